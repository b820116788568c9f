"""Items on how time and memory grow: with the sequence length, with the layers, and with threads, one of whose cores is busy."""
import os
import subprocess
import sys

from runner.item import Item, peer_row
from runner.samples import Samples, take_turns
from runner.tables import met, number, ratio, table, time, times


def measure_scaling(bench):
    return take_turns(Samples(), bench.ours("scaling", "^(length|layers|attention)/"), 1)


def by_number(samples, prefix):
    """(number, name) of the benchmarks called prefix/number."""
    names = [name for name in samples.names("ours") if name.startswith(prefix + "/")]
    return sorted((int(name.split("/")[1]), name) for name in names)


def per_token(samples, name):
    """(seconds, FLOPs)"""
    tokens = samples.counter("ours", name, "tokens")
    return samples.seconds("ours", name) / tokens, samples.counter("ours", name, "flops") / tokens


def growth_table(samples, prefix, head):
    rows, first = [], None
    for size, name in by_number(samples, prefix):
        seconds, flops = per_token(samples, name)
        first = first or (seconds, flops)
        pool, account = (samples.counter("ours", name, counter) for counter in ("pool_bytes", "accounted_bytes"))
        rows.append((size, time(seconds), times(seconds / first[0]), times(flops / first[1]), f"{pool / 1e6:.1f}", f"{account / 1e6:.1f}"))
    return table((head, "time per token", "growth", "of the FLOPs per token", "memory, MB", "the accountant's, MB"), rows)


ALLOWED_GROWTH = 1.25  # of the time per token beyond that of the FLOPs
ALLOWED_MEMORY = 1.05  # of a position at the longest sequence, beside one at the shortest


def ends(samples, prefix):
    """The smallest and the largest benchmark called prefix/number."""
    found = by_number(samples, prefix)
    return found[0], found[-1]


def scaling_verdicts(samples):
    for prefix in ("length", "layers"):
        (first, a), (last, b) = ends(samples, prefix)
        grown, expected = (after / before for before, after in zip(per_token(samples, a), per_token(samples, b)))
        yield (f"time per token, {prefix} {first} to {last}", times(grown), "its FLOPs", times(expected), times(grown / expected),
               f"at most {times(ALLOWED_GROWTH)}", met(ALLOWED_GROWTH, grown / expected))
    (first, a), (last, b) = ends(samples, "attention")
    before, after = (samples.counter("ours", name, "pool_bytes") / length for length, name in ((first, a), (last, b)))
    yield (f"attention's bytes a position, length {last}", number(after), f"length {first}", number(before), times(after / before),
           f"at most {times(ALLOWED_MEMORY)}", met(ALLOWED_MEMORY, after / before))


def report_scaling(samples):
    rows, before = [], None
    for length, name in by_number(samples, "attention"):
        held = samples.counter("ours", name, "pool_bytes")
        rows.append((length, f"{held / 1e6:.2f}", number(held / length), times(ratio(held, before)), time(samples.seconds("ours", name))))
        before = held
    return ("A training step of a model with d 128 and 4 layers on 8192 tokens, by sequence length:\n\n" + growth_table(samples, "length", "length")
            + "\nThe same on 4 x 256 tokens, by layers:\n\n" + growth_table(samples, "layers", "layers")
            + "\nAttention forward and backward, 12 heads of 128 over 4 KV heads, all that its tensors hold:\n\n"
            + table(("length", "memory, MB", "bytes a position", "of the row before", "time"), rows))


# ---- threads

STEP = "step/small/f32"


def beside_a_busy_core(run):
    """The same run while another process keeps the first core busy; that one is no disturbance here."""

    def busy_run():
        busy = subprocess.Popen([sys.executable, "-c", "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"])
        try:
            for name, sample in run():
                sample.others = abs(sample.others - 1)
                yield name, sample
        finally:
            busy.kill()
            busy.wait()

    return busy_run


def measure_threads(bench):
    sides = []
    for threads in sorted({1, bench.threads}):
        pair = bench.ours("train_step", f"^{STEP}/", f"ours:{threads}", threads)
        pair += bench.peers.pytorch([STEP], bench.repetitions, f"PyTorch:{threads}", threads)
        sides += pair
    if hasattr(os, "sched_setaffinity"):
        sides += [(f"{side} busy", beside_a_busy_core(run)) for side, run in pair]
    return take_turns(Samples(), sides, bench.rounds)


def threads_verdicts(samples):
    for side in samples.data:
        if side.startswith("ours:") and side != "ours:1" and not side.endswith("busy"):
            yield peer_row(f"step of small, f32, {side.split(':')[1]} threads", samples.seconds(side, STEP), "1 thread",
                           samples.seconds("ours:1", STEP), 1.0)


def report_threads(samples):
    rows = []
    for who in ("ours", "PyTorch"):
        sides = sorted(side for side in samples.data if side.startswith(who + ":"))
        first = samples.seconds(sides[0], STEP) if sides else None
        for side in sides:
            seconds = samples.seconds(side, STEP)
            rows.append((who, side.split(":")[1].replace(" busy", ", one core busy with another program"), time(seconds), times(first / seconds)))
    return "The small model's training step, f32.\n\n" + table(("", "threads", "time", "against one thread"), rows)


GROWTH_ITEMS = (
    Item("scaling", "Scaling", measure_scaling, report_scaling, scaling_verdicts),
    Item("threads", "Threads", measure_threads, report_threads, threads_verdicts),
)
