#!/usr/bin/env bash
# From nothing to a trained model: installs what is missing, builds the programs into build/bin and runs them. Can be rerun.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

need_packages g++ cmake ninja-build libeigen3-dev nlohmann-json3-dev libcli11-dev libpcre2-dev libutf8proc-dev gnuplot-nox

say "Building the programs (Release) into build/bin"
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DLLM_BUILD_EXAMPLES=ON -DLLM_BUILD_TESTS=OFF
cmake --build build -j "$(jobs_for_this_machine)"

say "Counting the parameters of a 502M model in two ways"
build/bin/count_params

say "Verifying a freshly initialised 502M model: shape, initial loss, causality"
build/bin/verify_model

say "Training a small model on this library's own source text"
build/bin/train --out build/demo --overwrite

say "Generating text from what was trained"
build/bin/generate build/demo --prompt "template <"
