#!/usr/bin/env python3
"""Checks with nm that functions are compiled in the owner's object file or library and not in the user's."""
import argparse
import re
import subprocess
import sys


def defined(nm, path):
    text = subprocess.run([nm, "-C", path], check=True, capture_output=True, text=True).stdout
    return [line for line in text.splitlines() if re.search(r" [TtWVu] ", line)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--owner", required=True)
    parser.add_argument("parts", nargs="+", help="what such functions have in their names")
    arguments = parser.parse_args()
    user, owner = defined(arguments.nm, arguments.user), defined(arguments.nm, arguments.owner)
    failures = [f"the user defines {line.split(maxsplit=2)[2]}" for line in user if any(part in line for part in arguments.parts)]
    if not any(part in line for line in owner for part in arguments.parts):
        failures.append("the owner defines none of the functions")
    print("\n".join(failures) or f"the code is in the owner alone ({len(owner)} symbols; the user has {len(user)})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
