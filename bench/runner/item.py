"""What an item of bench/RESULTS.md is, how it is measured, and the rows that say whether a target is met."""
from dataclasses import dataclass
from typing import Callable

from runner.samples import run_google
from runner.tables import met, percent, table, time, times

HEAD = ("work", "ours", "beside", "its figure", "ratio", "target", "met")


@dataclass
class Bench:
    """How things are measured in this run."""

    binaries: object
    peers: object
    threads: int
    rounds: int
    repetitions: int
    min_seconds: float

    @property
    def few_rounds(self):
        """For models that take long to make and to run."""
        return max(1, self.rounds - 1)

    def ours(self, program, name_filter, side="ours", threads=None, extra=None):
        """[(side, run)] for take_turns; `extra`: environment variables."""
        threads = threads or self.threads
        return [(side, lambda: run_google(self.binaries / program, name_filter, threads, self.repetitions, self.min_seconds, extra))]


@dataclass
class Item:
    """measure(bench) -> Samples; report(samples) -> Markdown; verdicts(samples) -> rows under HEAD."""

    name: str
    title: str
    measure: Callable
    report: Callable
    verdicts: Callable = lambda _samples: []


def limit(samples, which, beside=None):
    """A limit: FLOP/s of "f32" or "bf16", bytes/s of "read"; with `beside`, as the runs of our program that measured that work found it."""
    return samples.counter("ours", f"limit/{which}", "bytes/s" if which == "read" else "FLOP/s", beside)


def limit_row(work, ours, ideal, target):
    """The part of the limit that is reached: the ideal time over ours."""
    return (work, time(ours), "limit", time(ideal), percent(ideal / ours, 1), percent(target), met(ideal / ours, target))


def peer_row(work, ours, peer, seconds, target, ideal=None):
    """How many times as fast as a peer; says so when the ideal time itself would miss the target."""
    verdict = met(seconds / ours, target)
    if verdict == "no" and ideal and seconds / ideal < target:
        verdict += f", the limit allows {times(seconds / ideal)}"
    return (work, time(ours), peer, time(seconds), times(seconds / ours), times(target), verdict)


def verdict_table(rows):
    return table(HEAD, rows)
