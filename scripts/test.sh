#!/usr/bin/env bash
# Installs what is missing, builds everything into build/ and runs the whole test suite. Can be rerun; options go to ctest.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

need_packages g++ cmake ninja-build pkg-config python3 binutils libeigen3-dev nlohmann-json3-dev libcli11-dev catch2 \
  libpcre2-dev libutf8proc-dev libsentencepiece-dev clang-14 clang-19 libclang-rt-19-dev libomp-19-dev gnuplot-nox fortunes-zh qemu-user

say "Configuring build/ (Release, warnings are errors)"
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DLLM_WARNINGS_AS_ERRORS=ON -DLLM_BUILD_TESTS=ON -DLLM_BUILD_EXAMPLES=ON \
  -DLLM_TESTS_TOGETHER=8

say "Building on $(jobs_for_this_machine) cores"
cmake --build build -j "$(jobs_for_this_machine)"

say "Running the tests"
ctest --test-dir build --output-on-failure -j "$(jobs_for_this_machine)" "$@"
