#!/usr/bin/env python3
"""Runs generate on a model that is not compiled in, then the command that it prints, then the program which that builds.

Usage: check.py GENERATE MODEL.gguf COMPILER. Exit status 1 when something is not as it must be.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(command, scratch, **options):
    return subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False,
                          **options)


def require(holds, complaint, done):
    if not holds:
        sys.exit(f"{complaint}\n{done.stdout}\n{done.stderr}")


def check(generate, model, compiler, scratch):
    words = ["--prompt", "And God said", "--max-new-tokens", "5", "--temperature", "0"]
    refused = run([generate, model, *words], scratch)
    commands = [line.strip() for line in refused.stderr.splitlines() if line.startswith("  cmake ")]
    require(refused.returncode == 1 and len(commands) == 1, "no command for a model that is not compiled in", refused)
    # Without optimization, which the examples are compiled with anyway: it takes a minute more.
    quick = commands[0].replace("cmake -S", "cmake -DCMAKE_CXX_FLAGS_RELEASE=-O0 -S", 1)
    built = run(quick, scratch, shell=True, env={**os.environ, "CXX": compiler})
    require(built.returncode == 0, f"the command fails: {commands[0]}", built)
    first = run([scratch / "one_model/generate", model, *words], scratch)
    require(first.returncode == 0 and first.stdout.startswith("And God said") and len(first.stdout) > len("And God said\n"),
            "the program that it builds does not generate", first)
    require("rope: interleaved" in first.stderr, "the convention of RoPE is not named", first)
    again = run([scratch / "one_model/generate", model, *words], scratch)
    require(first.stdout == again.stdout, "another text the second time", again)


def main():
    generate, model, compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "a model.gguf"
        shutil.copy(model, copy)
        check(generate, str(copy), compiler, Path(folder))
    print("the printed command builds a program that generates")
    return 0


if __name__ == "__main__":
    sys.exit(main())
