#!/usr/bin/env python3
"""Checks with nm that kernels and layers are compiled in the owner's object file and not in the user's."""
import argparse
import re
import subprocess
import sys

# What a model's code is made of: every one must be defined by the owner, none by the user.
PARTS = ["llm::attention<", "llm::rms_norm<", "llm::swiglu<", "llm::head_loss<", "llm::reference::linear_forward<"]


def defined(nm, path):
    text = subprocess.run([nm, "-C", path], check=True, capture_output=True, text=True).stdout
    return [line for line in text.splitlines() if re.search(r" [TtWVu] ", line)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--owner", required=True)
    arguments = parser.parse_args()
    user, owner = defined(arguments.nm, arguments.user), defined(arguments.nm, arguments.owner)
    failures = []
    for part in PARTS:
        if any(part in line for line in user):
            failures.append(f"the user's object file defines {part}...>")
    if not any(any(part in line for part in PARTS) for line in owner):
        failures.append("the owner's object file defines none of the model's functions")
    print("\n".join(failures) or f"the model's code is in the owner alone ({len(owner)} symbols; the user has {len(user)})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
