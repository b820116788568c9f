#!/usr/bin/env bash
# Builds the benchmarks, runs them in turn with their peers and writes bench/RESULTS.md. A peer that is not installed is left out.
# Usage: scripts/bench.sh [threads] [--quick] [--only NAME]...; PYTHON names an interpreter that has torch. More options: bench/run.py --help
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh
need_packages g++ cmake ninja-build pkg-config python3 libeigen3-dev nlohmann-json3-dev libcli11-dev libpcre2-dev libutf8proc-dev \
  libbenchmark-dev libdnnl-dev
threads=2
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  threads=$1
  shift
fi
cmake -S . -B build/bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DLLM_BUILD_BENCH=ON -DLLM_BUILD_TESTS=OFF -DLLM_BUILD_EXAMPLES=ON >/dev/null
cmake --build build/bench --target llm_benchmarks -j "$(jobs_for_this_machine)"
exec python3 -B bench/run.py build/bench --threads "$threads" "$@"
