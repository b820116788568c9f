#!/usr/bin/env python3
"""Builds a small project that uses llm_add_model, changes its checkpoint, and looks at what is compiled anew and what is refused.

Usage: check.py WAY --root ROOT --cxx COMPILER --generator NAME --checkpoint FOLDER, with WAY one of add_subdirectory, find_package.
Exit status 1 when something is not as it must be.
"""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SENTENCE = "llm::linear(x [..., K], weight [N, K]): the last extent of x must equal the weight's columns"


def run(*command, fails=False):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, command))}\nstatus {done.returncode}\n{done.stdout}")
    return done.stdout


def require(holds, complaint):
    if not holds:
        sys.exit(complaint)


def contains(output, text):
    require(text in " ".join(output.split()), f"expected {text!r} in\n{output}")


def change(config, **fields):
    content = json.loads(config.read_text(encoding="utf-8"))
    content.update(fields)
    config.write_text(json.dumps(content), encoding="utf-8")


def install(options, scratch):
    build, prefix = scratch / "library", scratch / "prefix"
    run("cmake", "-G", options.generator, "-S", options.root, "-B", build, f"-DCMAKE_CXX_COMPILER={options.cxx}", "-DLLM_BUILD_TESTS=OFF",
        "-DLLM_BUILD_EXAMPLES=OFF", f"-DCMAKE_INSTALL_PREFIX={prefix}")
    run("cmake", "--install", build)
    return prefix


def check(options, scratch):
    checkpoint, build = scratch / "checkpoint", scratch / "build"
    shutil.copytree(options.checkpoint, checkpoint, ignore=shutil.ignore_patterns("expected.*"))  # the model alone
    found = f"-DLLM_ROOT={options.root}" if options.way == "add_subdirectory" else f"-DCMAKE_PREFIX_PATH={install(options, scratch)}"
    configure = ["cmake", "-G", options.generator, "-S", HERE / "project", "-B", build, f"-DCMAKE_CXX_COMPILER={options.cxx}", found]

    contains(run(*configure, "-DCHECKPOINT=no_such_folder", fails=True), "CHECKPOINT")
    run(*configure, f"-DCHECKPOINT={checkpoint}")

    def compile_program(name, fails=False):
        return run("cmake", "--build", build, "--target", name, fails=fails)

    compile_program("app")
    require(run(build / "app") == "26784 parameters, 64 positions\n", "the program is compiled against another config")
    contains(compile_program("mistake", fails=True), SENTENCE)
    if options.way == "find_package":  # the rest does not depend on the way
        return

    change(checkpoint / "config.json", max_position_embeddings=48)
    compile_program("app")
    require(run(build / "app") == "26784 parameters, 48 positions\n", "a changed config.json does not compile the program anew")

    change(checkpoint / "config.json", intermediate_size=63)
    contains(compile_program("app", fails=True), "'model.layers.0.mlp.gate_proj.weight' is [64, 32], expected [63, 32]")
    (checkpoint / "model.safetensors").unlink()  # a config alone: the count in the program's static_assert is another's
    contains(compile_program("app", fails=True), "static assertion failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=["add_subdirectory", "find_package"])
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--checkpoint", required=True, type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        check(options, Path(scratch))
    print(f"{options.way}: passed")


if __name__ == "__main__":
    main()
