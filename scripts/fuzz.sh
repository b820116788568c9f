#!/usr/bin/env bash
# Builds the fuzzers of tests/fuzz with libFuzzer, ASan and UBSan and runs each from its kept corpus, one a core at a time:
# scripts/fuzz.sh [seconds each, 20].
# Findings stay in build-fuzz/<name>/; a new input that is worth keeping goes to tests/fuzz/corpus/<name>/.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

seconds=${1:-20}
compiler=${CXX_FUZZ:-clang++-19}
need_packages clang-19 libclang-rt-19-dev nlohmann-json3-dev libeigen3-dev libpcre2-dev libutf8proc-dev

# Builds and runs one; what it has to say is in its log, since several run at once.
fuzz() {
  local name=$1 out=build-fuzz/$1
  mkdir -p "$out/corpus"
  "$compiler" -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Iinclude -Itests -isystem /usr/include/eigen3 \
    '-DLLM_TEST_DATA="tests/data"' "tests/fuzz/${name}_fuzz.cpp" -lpcre2-8 -lutf8proc -o "$out/fuzz" >"$out/log" 2>&1 || return 1
  # New inputs go to the first folder, the kept ones are read only.
  "$out/fuzz" -max_total_time="$seconds" -max_len=16384 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$out/" "$out/corpus" "tests/fuzz/corpus/$name" >"$out/log" 2>&1
}

set -m  # each job is a process group, which ends as a whole when this is interrupted
trap 'for job in $(jobs -pr); do kill -- "-$job"; done' EXIT
names=() jobs=$(jobs_for_this_machine)
declare -A pids=()
for source in tests/fuzz/*_fuzz.cpp; do
  while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
  names+=("$(basename "$source" _fuzz.cpp)")
  fuzz "${names[-1]}" &
  pids[${names[-1]}]=$!
done

failed=()
for name in "${names[@]}"; do
  if wait "${pids[$name]}"; then
    say "Fuzzed $name for $seconds s"
    grep -E 'number_of_executed_units|average_exec_per_sec|peak_rss_mb' "build-fuzz/$name/log"
  else
    failed+=("$name")
    say "Fuzzing $name failed"
    tail -n 60 "build-fuzz/$name/log"
  fi
done
[ ${#failed[@]} -eq 0 ] || { say "Faults: ${failed[*]}"; exit 1; }
say "No fuzzer found a fault"
