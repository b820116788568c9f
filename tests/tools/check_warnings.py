#!/usr/bin/env python3
"""Compiles every source of a build folder without generating code, to see the compiler's warnings at a fraction of the time.

Usage: check_warnings.py BUILD [--jobs N], where BUILD has compile_commands.json. Exit status 1 when a file does not compile.
"""
import argparse
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def syntax_only(command):
    """The command without its output, stopping after the checks."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word in ("-o", "-MF", "-MT", "-MQ"):
            next(words)
        elif word not in ("-c", "-MD", "-MMD"):
            kept.append(word)
    return kept + ["-fsyntax-only", "-Werror"]


def compile_one(entry):
    done = subprocess.run(syntax_only(entry["command"]), cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    return entry["file"], done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    entries = json.loads((arguments.build / "compile_commands.json").read_text(encoding="utf-8"))
    # Not nvcc's, and not CMake's own files for each header: tools/headers_* look at those with all warnings.
    entries = [entry for entry in entries if not entry["file"].endswith((".cu", ".hpp.cxx"))]
    failed = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for name, status, output in pool.map(compile_one, entries):
            if status != 0 or output.strip():
                failed += 1
                print(f"{name}:\n{output}", flush=True)
    print(f"{len(entries) - failed} of {len(entries)} files compile without a warning")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
