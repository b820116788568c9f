"""Items on how time and memory grow: with the sequence length, with the layers, and with threads, one of whose cores is busy."""
import os
import subprocess
import sys

from runner.item import Item
from runner.samples import Samples, take_turns
from runner.tables import number, ratio, table, time, times


def measure_scaling(bench):
    return take_turns(Samples(), bench.ours("scaling", "^(length|layers|attention)/"), 1)


def by_number(samples, prefix):
    """(number, name) of the benchmarks called prefix/number."""
    names = [name for name in samples.names("ours") if name.startswith(prefix + "/")]
    return sorted((int(name.split("/")[1]), name) for name in names)


def growth_table(samples, prefix, head):
    rows, first = [], None
    for size, name in by_number(samples, prefix):
        tokens = samples.counter("ours", name, "tokens")
        seconds, flops = samples.seconds("ours", name) / tokens, samples.counter("ours", name, "flops") / tokens
        first = first or (seconds, flops)
        pool, account = (samples.counter("ours", name, counter) for counter in ("pool_bytes", "accounted_bytes"))
        rows.append((size, time(seconds), times(seconds / first[0]), times(flops / first[1]), f"{pool / 1e6:.1f}", f"{account / 1e6:.1f}"))
    return table((head, "time per token", "growth", "of the FLOPs per token", "memory, MB", "the accountant's, MB"), rows)


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
    Item("scaling", "Scaling", measure_scaling, report_scaling),
    Item("threads", "Threads", measure_threads, report_threads),
)
