#!/usr/bin/env python3
"""Runs the benchmarks in turn with their peers and writes bench/RESULTS.md.

What an item measured is kept in BUILD/results/ITEM.json, so that items can be run one at a time (--only) and RESULTS.md tells all.
PYTHON names an interpreter that has PyPI's torch. scripts/bench.sh builds the programs first.
"""
import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

from runner.item import Bench, verdict_table
from runner.items import ITEMS
from runner.peers import Peers, output_of
from runner.samples import Samples

ROOT = Path(__file__).resolve().parent.parent


def first_match(path, key):
    """The text behind the first `key` of a file, without what separates them."""
    try:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            if line.startswith(key):
                return line[len(key):].strip(" \t:=")
    except OSError:
        pass
    return ""


def compiler_of(build):
    compiler = first_match(build / "CMakeCache.txt", "CMAKE_CXX_COMPILER:FILEPATH=") or "c++"
    return next(iter(output_of([compiler, "--version"]).splitlines()), compiler)


def machine():
    memory = int((first_match("/proc/meminfo", "MemTotal").split() or ["0"])[0]) / 2**20
    processor = first_match("/proc/cpuinfo", "model name") or platform.processor()
    family, model = (first_match("/proc/cpuinfo", key) for key in ("cpu family", "model\t"))
    return f"{processor} (family {family}, model {model}), {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}"


def commit():
    """What is measured; dirty when a tracked file differs from it, other than the page of results, which a run writes item by item."""
    changed = output_of(["git", "status", "--porcelain", "--untracked-files=no", "--", ":(top,exclude)bench/RESULTS.md"], ROOT)
    return output_of(["git", "describe", "--always"], ROOT) + ("-dirty" if changed else "")


def measure(item, bench, folder):
    print(f"{item.name}: measuring", flush=True)
    start = time.time()
    samples = item.measure(bench)
    record = {"commit": commit(), "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
              "threads": bench.threads, "machine": machine(), "compiler": compiler_of(folder.parent), "peers": bench.peers.versions,
              "samples": samples.data}
    (folder / f"{item.name}.json").write_text(json.dumps(record), encoding="utf-8")
    print(f"{item.name}: {time.time() - start:.0f} s", flush=True)


def render(folder):
    """The page, from the records of all items that were measured."""
    records = {item.name: json.loads((folder / f"{item.name}.json").read_text(encoding="utf-8"))
               for item in ITEMS if (folder / f"{item.name}.json").exists()}
    text = ["# Results of the benchmarks\n",
            "Written by `scripts/bench.sh`; what the figures mean is in [docs/speed.md](../docs/speed.md). Times are medians of samples during "
            "which other programs had less than 0.15 of a core, or of the quietest third where a section says so; limits and peers were measured "
            "in turn with ours. A ratio beside a peer is its time over ours.\n"]
    for key, title in (("machine", "Machine"), ("compiler", "Compiler")):
        text.append(f"{title}: {'; '.join(dict.fromkeys(record[key] for record in records.values()))}  ")
    versions = {f"{name} {version}".strip() for record in records.values() for name, version in record["peers"].items()}
    text.append(f"Peers: {', '.join(sorted(versions)) or 'none'}\n")
    samples = {name: Samples(record["samples"]) for name, record in records.items()}
    verdicts = []
    for item in ITEMS:
        rows = item.verdicts(samples[item.name]) if item.name in samples else []
        remark = ", but disturbed" if rows and samples[item.name].noisy() else ""  # such a ratio proves nothing either way
        verdicts += [(*row[:-1], row[-1] + remark) for row in rows if row[-1]]
    text.append("## Targets\n\n" + verdict_table(verdicts))
    for item in ITEMS:
        if item.name in records:
            record = records[item.name]
            text.append(f"## {item.title}\n\n{record['threads']} threads, commit {record['commit']}, {record['date']}\n")
            text.append(item.report(samples[item.name]))
            if noisy := samples[item.name].noisy():
                text.append(f"Other programs disturbed most samples of: {', '.join(noisy)}.\n")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="the build folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", action="append", choices=[item.name for item in ITEMS], metavar="NAME", help="one item; may be repeated")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples")
    parser.add_argument("--render", action="store_true", help="measure nothing: write the page from what is kept")
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "RESULTS.md")
    options = parser.parse_args()
    folder = options.build / "results"
    folder.mkdir(parents=True, exist_ok=True)
    if not options.render:
        peers = Peers(options.build / "bin", options.build / "peers", options.threads)
        for hint in peers.missing():
            print(f"Left out, {hint}", file=sys.stderr)
        bench = Bench(options.build / "bin", peers, options.threads, rounds=1 if options.quick else 3,
                      repetitions=3, min_seconds=0.05 if options.quick else 0.25)
        for item in ITEMS:
            if not options.only or item.name in options.only:
                measure(item, bench, folder)
                options.output.write_text(render(folder), encoding="utf-8")  # what is known so far
    options.output.write_text(render(folder), encoding="utf-8")
    print(f"Written: {options.output}")


if __name__ == "__main__":
    main()
