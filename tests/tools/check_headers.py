#!/usr/bin/env python3
"""Checks that each header compiles alone and without a warning, or with --together that all do in one file.

Usage: check_headers.py --compiler g++ --root ROOT [--together] [compiler options]. backend/cuda/ is left to nvcc. Exit status 1 when a
header does not compile, 77 when there is no such compiler.
"""
import argparse
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only"]


def compile_headers(compiler, options, include, names):
    # Twice, so that a header without #pragma once is found.
    program = "".join(f"#include <{name}>\n" for name in names) * 2
    done = subprocess.run([compiler, *FLAGS, *options, "-I", str(include), "-x", "c++", "-"], input=program, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return names, done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--together", action="store_true")
    arguments, options = parser.parse_known_args()
    if shutil.which(arguments.compiler) is None:
        print(f"skipped: no compiler {arguments.compiler}")
        return 77
    include = arguments.root / "include"
    names = [str(path.relative_to(include)) for path in sorted((include / "llm").rglob("*.hpp"))]
    names = [name for name in names if not name.startswith("llm/backend/cuda/")]
    groups = [names] if arguments.together else [[name] for name in names]
    failed = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for group, status, output in pool.map(lambda group: compile_headers(arguments.compiler, options, include, group), groups):
            if status != 0:
                failed += 1
                print(f"{group[0]} does not compile alone:\n{output}" if len(group) == 1 else output, flush=True)
    print(f"{arguments.compiler}: {len(groups) - failed} of {len(groups)} files of headers compile")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
