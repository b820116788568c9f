#!/usr/bin/env bash
# Builds the benchmarks and runs them in turn with their peers; prints medians and ratios. A peer that is not installed is left out.
# Usage: scripts/bench.sh [threads]; PYTHON names an interpreter that has torch.
set -euo pipefail
cd "$(dirname "$0")/.."
threads=${1:-2}
python=${PYTHON:-python3}
cmake -S . -B build/bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DLLM_BUILD_BENCH=ON -DLLM_BUILD_TESTS=OFF -DLLM_BUILD_EXAMPLES=OFF >/dev/null
cmake --build build/bench
has_torch=no
"$python" -c 'import torch' 2>/dev/null && has_torch=yes || echo "PyTorch is not installed for $python: only our side runs (pip install torch)"
results=$(mktemp)
trap 'rm -f "$results"' EXIT
for _ in 1 2 3 4 5; do # in turn, so that a change of the machine's speed meets both sides
  build/bench/bin/train_step "$threads" | tee -a "$results"
  [ "$has_torch" = yes ] && OMP_NUM_THREADS=$threads "$python" bench/peers/train_step.py "$threads" | tee -a "$results"
done
awk '{ print $1, $2, $3 }' "$results" | sort -k1,2 -k3n | awk '
  { key = $1 " " $2; values[key, ++count[key]] = $3; name[$1] = 1 }
  END {
    for (n in name) {
      ours = values[n " ours", int((count[n " ours"] + 1) / 2)]
      printf "%s: ours %.2f ms", n, ours
      if (count[n " pytorch"]) {
        peer = values[n " pytorch", int((count[n " pytorch"] + 1) / 2)]
        printf ", PyTorch %.2f ms, %.2f times as fast", peer, peer / ours
      }
      print " (medians of " count[n " ours"] " runs, " threads " threads)"
    }
  }' threads="$threads"
