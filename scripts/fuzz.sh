#!/usr/bin/env bash
# Builds the fuzzers of tests/fuzz with libFuzzer, ASan and UBSan and runs each from its kept corpus: scripts/fuzz.sh [seconds each, 20].
# Findings stay in build-fuzz/<name>/; a new input that is worth keeping goes to tests/fuzz/corpus/<name>/.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

seconds=${1:-20}
compiler=${CXX_FUZZ:-clang++-19}
need_packages clang-19 libclang-rt-19-dev nlohmann-json3-dev libeigen3-dev

for source in tests/fuzz/*_fuzz.cpp; do
  name=$(basename "$source" _fuzz.cpp)
  out=build-fuzz/$name
  mkdir -p "$out/corpus"
  say "Fuzzing $name for $seconds s"
  "$compiler" -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Iinclude -Itests -isystem /usr/include/eigen3 \
    "$source" -o "$out/fuzz"
  # New inputs go to the first folder, the kept ones are read only.
  "$out/fuzz" -max_total_time="$seconds" -max_len=16384 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$out/" "$out/corpus" "tests/fuzz/corpus/$name" >"$out/log" 2>&1 || {
    tail -n 60 "$out/log"
    exit 1
  }
  grep -E 'number_of_executed_units|average_exec_per_sec|peak_rss_mb' "$out/log"
done
say "No fuzzer found a fault"
