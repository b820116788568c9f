#!/usr/bin/env bash
# Builds the fuzzers of tests/fuzz with libFuzzer, ASan and UBSan and runs each from its kept corpus, one a core at a time:
#   scripts/fuzz.sh              the same inputs on every machine: a fixed seed and a fixed number of runs each, about 20 s of a core
#   scripts/fuzz.sh SECONDS      random seeds, so many seconds each: what looks for new faults
# Findings stay in build-fuzz/<name>/; a new input that is worth keeping goes to tests/fuzz/corpus/<name>/.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

seconds=${1:-}
compiler=${CXX_FUZZ:-clang++-19}
need_packages clang-19 libclang-rt-19-dev nlohmann-json3-dev libeigen3-dev libpcre2-dev libutf8proc-dev

# How often each fuzzer runs without SECONDS: about 20 s of one core, mostly of writing files for checkpoint and gguf.
declare -A runs=([chat_template]=8000 [checkpoint]=5000 [gguf]=14000 [hf_config]=200000 [llama2c]=500000 [quantize]=150000
                 [safetensors]=350000 [safetensors_index]=300000 [sentencepiece]=200000 [tokenizer_json]=150000 [tokenizer_text]=250000)

# What decides which inputs a fuzzer tries. New inputs go to $out/corpus; with SECONDS the last run's are taken up again. Without, nothing
# may depend on the machine: the kept inputs go in by name, not in the order of the file system, none are read again as time passes,
# kernels are the portable ones, and times are guards only. What the program compares is no source of words: among it are addresses.
plan() {
  local name=$1 out=$2
  if [ -n "$seconds" ]; then
    plan=("-max_total_time=$seconds" -timeout=10 "$out/corpus" "tests/fuzz/corpus/$name")
    return
  fi
  rm -rf "$out/corpus" && mkdir "$out/corpus"
  printf '%s\n' "tests/fuzz/corpus/$name"/* | LC_ALL=C sort | paste -sd , | tr -d '\n' >"$out/inputs"
  plan=(-seed=1 "-runs=${runs[$name]}" -max_total_time=600 -timeout=60 -reload=0 -use_cmp=0 "-seed_inputs=@$out/inputs" "$out/corpus")
  export LLM_ISA=portable
}

# Builds and runs one; what it has to say is in its log, since several run at once.
fuzz() {
  local name=$1 out=build-fuzz/$1 plan coverage=()
  mkdir -p "$out/corpus"
  # How deep the stack is depends on where it begins, which the system draws by lot.
  [ -n "$seconds" ] || coverage=(-fno-sanitize-coverage=stack-depth)
  "$compiler" -std=c++20 -gline-tables-only -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all "${coverage[@]}" -Iinclude -Itests \
    -isystem /usr/include/eigen3 '-DLLM_TEST_DATA="tests/data"' "tests/fuzz/${name}_fuzz.cpp" -lpcre2-8 -lutf8proc -o "$out/fuzz" >"$out/log" 2>&1 || return 1
  plan "$name" "$out"
  "$out/fuzz" -max_len=16384 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 -artifact_prefix="$out/" "${plan[@]}" \
    >"$out/log" 2>&1
}

set -m  # each job is a process group, which ends as a whole when this is interrupted
trap 'for job in $(jobs -pr); do kill -- "-$job"; done' EXIT
names=() jobs=$(jobs_for_this_machine)
declare -A pids=()
for source in tests/fuzz/*_fuzz.cpp; do
  name=$(basename "$source" _fuzz.cpp)
  [ -n "${runs[$name]:-}" ] || { echo "scripts/fuzz.sh: how many runs of $name? Give the number in the table runs." >&2; exit 1; }
  names+=("$name")
done
for name in "${names[@]}"; do
  while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
  fuzz "$name" &
  pids[$name]=$!
done

failed=()
for name in "${names[@]}"; do
  if wait "${pids[$name]}"; then
    say "Fuzzed $name${seconds:+ for $seconds s}"
    grep -E 'number_of_executed_units|average_exec_per_sec|peak_rss_mb' "build-fuzz/$name/log"
    done=$(awk '/number_of_executed_units/ {print $2}' "build-fuzz/$name/log")
    [ -n "$seconds" ] || [ "$done" -ge "${runs[$name]}" ] || say "$name: stopped by time, before its ${runs[$name]} runs"
  else
    failed+=("$name")
    say "Fuzzing $name failed"
    tail -n 60 "build-fuzz/$name/log"
  fi
done
[ ${#failed[@]} -eq 0 ] || { say "Faults: ${failed[*]}"; exit 1; }
say "No fuzzer found a fault"
