#!/usr/bin/env python3
"""Holds the compile-time budget of one pinned program, and records what it costs.

Compiles program.cpp with 2 and with 32 layers. Fails when the deep model costs more template instantiations or memory than the shallow one,
or when either exceeds its budget. Time is recorded, never judged: it depends on what else the machine does. umbrella.cpp, which only
includes the front doors, is recorded too. zoo.cpp, all configs with the static_asserts of their counts, must take less processor time than
ZOO_SECONDS: it is arithmetic, and costs a small part of that.

Usage: check.py --root ROOT --out FILE [compiler options]. Exit status 77 when clang 19, which counts the instantiations, is missing.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPILERS = ["clang++-19", "g++"]
COUNTS = "clang++-19"

INSTANTIATION = re.compile(rb'"name":\s*"Instantiate(?:Class|Function)"')

# Above what the program cost when they were set; raise them only with a reason in the change.
MOST_INSTANTIATIONS = 16000
MOST_MEGABYTES = {"clang++-19": 320, "g++": 480}
ZOO_SECONDS = 5.0


def instantiations(trace):
    """Read in pieces: a child's peak memory, as the system counts it, begins at that of this process."""
    count, rest = 0, b""
    with trace.open("rb") as file:
        while piece := file.read(1 << 20):
            text = rest + piece
            found = list(INSTANTIATION.finditer(text))
            count += len(found)
            rest = text[max(found[-1].end() if found else 0, len(text) - 64):]
    return count


def run(command):
    """Wall time and resource usage of a compiler."""
    start = time.monotonic()
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"does not compile: {' '.join(command)}")
    return time.monotonic() - start, usage


def measure(compiler, program, layers, root, options):
    """Wall and processor seconds, peak memory in MB and, for clang 19, the number of template instantiations. These are counted in a
    compilation of their own: the trace that tells them takes memory in steps that double, half as much again as the program."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [compiler, "-std=c++20", "-O1", f"-DLLM_LAYERS={layers}", "-I", str(root / "include"), *options, "-c",
                   str(HERE / program), "-o", str(Path(scratch) / "program.o")]
        seconds, usage = run(command)
        found = {"compiler": compiler, "program": program, "layers": layers, "seconds": round(seconds, 1),
                 "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
                 "megabytes": round(usage.ru_maxrss / 1024)}
        if compiler == COUNTS:
            trace = Path(scratch) / "trace.json"
            run(command + [f"-ftime-trace={trace}", "-ftime-trace-granularity=0"])
            found["instantiations"] = instantiations(trace)
    return found


def judge(shallow, deep):
    """Complaints about one compiler's two measurements."""
    name = deep["compiler"]
    if deep.get("instantiations", 0) > shallow.get("instantiations", 0):
        yield f"{name}: 32 layers take {deep['instantiations']} instantiations, 2 layers {shallow['instantiations']}"
    if deep["megabytes"] > 1.1 * shallow["megabytes"] + 10:
        yield f"{name}: 32 layers take {deep['megabytes']} MB, 2 layers {shallow['megabytes']} MB"
    if deep.get("instantiations", 0) > MOST_INSTANTIATIONS:
        yield f"{name}: {deep['instantiations']} instantiations exceed the budget of {MOST_INSTANTIATIONS}"
    if deep["megabytes"] > MOST_MEGABYTES[name]:
        yield f"{name}: {deep['megabytes']} MB exceed the budget of {MOST_MEGABYTES[name]} MB"


def judge_zoo(zoo):
    """Complaints about the measurement of zoo.cpp."""
    if zoo["cpu_seconds"] >= ZOO_SECONDS:
        yield f"{zoo['compiler']}: all configs take {zoo['cpu_seconds']} s, the budget is {ZOO_SECONDS} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    arguments, options = parser.parse_known_args()
    if shutil.which(COUNTS) is None:
        print(f"skipped: no compiler {COUNTS}")
        return 77
    found, complaints = [], []
    for compiler in COMPILERS:
        if shutil.which(compiler) is None:
            continue
        pair = [measure(compiler, "program.cpp", layers, arguments.root, options) for layers in (2, 32)]
        complaints += judge(*pair)
        zoo = measure(compiler, "zoo.cpp", 0, arguments.root, options)
        complaints += judge_zoo(zoo)
        found += pair + [measure(compiler, "umbrella.cpp", 0, arguments.root, options), zoo]
        for one in found[-4:]:
            print(one, flush=True)
    arguments.out.write_text("[\n" + ",\n".join("  " + json.dumps(one) for one in found) + "\n]\n", encoding="utf-8")
    print("\n".join(complaints) or "within the budget")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
