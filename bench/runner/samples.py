"""Runs benchmark programs in turn and keeps what they measured: samples by side ("ours", "PyTorch", ...) and name."""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from peers.load import Load

PEERS = ("PyTorch", "torch.compile", "oneDNN", "llama.cpp", "llm.c", "llama2.c")  # sides that may be left out
QUIET = 0.15  # cores that other programs may have in use while a sample is taken


@dataclass
class Sample:
    seconds: float
    others: float
    counters: dict = field(default_factory=dict)


class Samples:
    """All samples of one item of the results."""

    def __init__(self, data=None):
        self.data = data or {}  # side -> name -> [Sample as a dictionary, and the number of the program's run]
        self.runs = 0

    def add_run(self, side, run):
        """Adds what one run of a program yields."""
        self.runs += 1
        for name, sample in run():
            self.data.setdefault(side, {}).setdefault(name, []).append({**vars(sample), "run": self.runs})

    def names(self, side):
        return list(self.data.get(side, {}))

    def _taken(self, side, name, beside=None):
        """The samples that count: the quiet ones, or the quietest third when there are fewer than two; with `beside`, of the runs that
        measured that, too."""
        names = self.data.get(side, {})
        runs = {sample.get("run") for sample in names.get(beside or name, [])}
        taken = sorted((sample for sample in names.get(name, []) if sample.get("run") in runs), key=lambda sample: sample["others"])
        quiet = [sample for sample in taken if sample["others"] < QUIET]
        return quiet if len(quiet) >= min(2, len(taken)) else taken[: max(1, len(taken) // 3)]

    def quiet_count(self, side, name):
        return sum(sample["others"] < QUIET for sample in self.data.get(side, {}).get(name, []))

    def noisy(self):
        """Names of what other programs disturbed so often that the median is that of the quietest third."""
        return sorted({name for side, names in self.data.items() for name, taken in names.items()
                       if self.quiet_count(side, name) < min(2, len(taken))})

    def seconds(self, side, name):
        """The median; None when that was not measured."""
        taken = self._taken(side, name)
        return statistics.median(sample["seconds"] for sample in taken) if taken else None

    def counter(self, side, name, counter, beside=None):
        taken = [sample["counters"][counter] for sample in self._taken(side, name, beside) if counter in sample["counters"]]
        return statistics.median(taken) if taken else None


TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
STANDARD_FIELDS = {"name", "run_name", "real_time", "cpu_time", "time_unit", "iterations", "threads", "family_index", "repetitions",
                   "per_family_instance_index", "repetition_index", "run_type", "others"}


def plain_name(name):
    return re.sub(r"(/repeats:\d+|/process_time|/real_time)+$", "", name)


def google_samples(report):
    """(name, Sample) of Google Benchmark's JSON."""
    for entry in report["benchmarks"]:
        if entry.get("run_type") == "aggregate" or entry.get("error_occurred"):
            continue
        name = plain_name(entry["run_name"])
        counters = {key: value for key, value in entry.items() if key not in STANDARD_FIELDS}
        yield name, Sample(entry["real_time"] * TIME_UNITS[entry["time_unit"]], entry["others"], counters)


def environment(threads):
    """That of every program: as many OpenMP threads as the table says."""
    return {**os.environ, "OMP_NUM_THREADS": str(threads)}


def run_google(program, name_filter, threads, repetitions, min_seconds, extra=None):
    """Runs one of our C++ programs, with the environment variables `extra`; yields (name, Sample)."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        command = [str(program), "--threads", str(threads), f"--benchmark_filter={name_filter}", f"--benchmark_out={out}",
                   "--benchmark_out_format=json", f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={min_seconds}",
                   "--benchmark_enable_random_interleaving=true"]
        done = subprocess.run(command, env={**environment(threads), **(extra or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
        with open(out, encoding="utf-8") as file:
            samples = list(google_samples(json.load(file)))
    if not samples:
        raise RuntimeError(f"{' '.join(command)}: nothing has such a name")
    yield from samples


def names_of(program, name_filter):
    """What a C++ program of ours can measure."""
    done = subprocess.run([str(program), f"--benchmark_filter={name_filter}", "--benchmark_list_tests=true"], stdout=subprocess.PIPE, text=True,
                          check=True)
    return [plain_name(line) for line in done.stdout.splitlines()]


def run_lines(command, threads):
    """Runs a program that prints one JSON object a sample; yields (name, Sample)."""
    done = subprocess.run(command, env=environment(threads), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            yield entry.pop("name"), Sample(entry.pop("seconds"), entry.pop("others"), entry)


def wait_for_quiet(longest=30):
    """Returns when other programs use less than QUIET cores, after `longest` seconds at the latest."""
    end = time.time() + longest
    while time.time() < end:
        before = Load()
        time.sleep(0.3)
        if Load().others_since(before) < QUIET:
            return


def take_turns(samples, sides, rounds):
    """Runs every (side, function that yields (name, Sample)) `rounds` times in turn, twice as often while one has too few quiet samples.
    A peer that fails is left out; a program of ours that fails ends the run."""
    failed = set()
    for turn in range(2 * rounds):
        for side, run in sides:
            done = turn >= rounds and all(samples.quiet_count(side, name) >= 2 for name in samples.names(side))
            if side in failed or done:
                continue
            wait_for_quiet()
            try:
                samples.add_run(side, run)
            except (RuntimeError, OSError, ValueError) as error:
                if not side.startswith(PEERS):
                    raise SystemExit(f"{side}: {error}") from error
                print(f"{side} is left out: {error}", file=sys.stderr)
                failed.add(side)
    return samples
