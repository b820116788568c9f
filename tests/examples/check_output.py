#!/usr/bin/env python3
"""Runs a program and compares what it prints with a file or a pattern, or what it says about a mistake with a pattern.

    check_output.py --file EXPECTED PROGRAM [ARGUMENT ...]      status 0 and exactly this output
    check_output.py --match PATTERN PROGRAM [ARGUMENT ...]      status 0, the pattern in its output (. matches line ends too)
    check_output.py --error PATTERN PROGRAM [ARGUMENT ...]      status other than 0, the pattern in its error output
"""
import difflib
import re
import subprocess
import sys
from pathlib import Path


def check(mode, expected, command):
    result = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)
    if mode == "--error":
        if result.returncode <= 0 or not re.search(expected, result.stderr):
            return f"status {result.returncode}, expected an error that matches {expected!r}; it said\n{result.stderr}"
        return None
    if result.returncode != 0:
        return f"status {result.returncode}\n{result.stdout}{result.stderr}"
    if mode == "--match":
        return None if re.search(expected, result.stdout, re.DOTALL) else f"expected output that matches {expected!r}\n{result.stdout}"
    wanted = Path(expected).read_text(encoding="utf-8")
    if result.stdout != wanted:
        return "".join(difflib.unified_diff(wanted.splitlines(True), result.stdout.splitlines(True), expected, "output"))
    return None


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("--file", "--match", "--error"):
        sys.exit(__doc__)
    complaint = check(sys.argv[1], sys.argv[2], sys.argv[3:])
    if complaint:
        sys.exit(f"{' '.join(sys.argv[3:])}: {complaint}")


if __name__ == "__main__":
    main()
