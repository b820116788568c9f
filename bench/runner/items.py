"""The items of bench/RESULTS.md: what each runs, and the tables it makes of that.

An item has a title and two functions: measure(bench) -> Samples, and report(samples) -> Markdown.
"""
from dataclasses import dataclass
from functools import partial
from typing import Callable

from runner.samples import Samples, run_google, take_turns
from runner.tables import geometric_mean, met, number, percent, ratio, table, time, times


@dataclass
class Bench:
    """How things are measured in this run."""

    binaries: object
    peers: object
    threads: int
    rounds: int
    repetitions: int
    min_seconds: float

    def ours(self, program, name_filter, side="ours", threads=None, repetitions=None):
        threads, repetitions = threads or self.threads, repetitions or self.repetitions
        return [(side, lambda: run_google(self.binaries / program, name_filter, threads, repetitions, self.min_seconds))]


@dataclass
class Item:
    name: str
    title: str
    measure: Callable
    report: Callable


def limit(samples, which):
    """A limit measured in the same run: FLOP/s of "f32" or "bf16", bytes/s of "read"."""
    return samples.counter("ours", f"limit/{which}", "bytes/s" if which == "read" else "FLOP/s")


# ---- what the machine can do


def measure_roofline(bench):
    return take_turns(Samples(), bench.ours("roofline", "."), bench.rounds)


def report_roofline(samples):
    rows = []
    for name in sorted(samples.names("ours"), key=lambda name: (name.rsplit(":", 1)[1], name)):
        what, threads = name.rsplit("/threads:", 1)
        flops, read = samples.counter("ours", name, "FLOP/s"), samples.counter("ours", name, "bytes/s")
        rows.append((what, threads, f"{flops / 1e9:.0f} GFLOP/s" if flops else f"{read / 1e9:.1f} GB/s"))
    return table(("limit", "threads", "median"), rows)


# ---- products

DIRECTIONS = ("forward", "dx", "dw")
PRODUCT_PEERS = ("oneDNN", "PyTorch")
PRODUCT_TARGETS = {"f32": 0.92, "bf16": 0.80}


SHAPES = ("512x1536x4096", "512x4096x1536", "512x1536x1536", "512x1536x32000", "1024x128x352", "1024x128x128", "1024x128x65")


def measure_products(kind, bench):
    sides = bench.ours("products", f"^limit/{kind}|^product/{kind}/")
    sides += bench.peers.onednn(f"^product/{kind}/", bench.repetitions, bench.min_seconds)
    sides += bench.peers.pytorch([f"product/{kind}"], bench.repetitions)
    return take_turns(Samples(), sides, bench.rounds)


def product_flops(name):
    m, k, n = map(int, name.split("/")[2].split("x"))
    return 2 * m * k * n


def of_peak(samples, side, name):
    """The fraction of the multiply-add peak that a product reaches."""
    seconds = samples.seconds(side, name)
    return seconds and product_flops(name) / seconds / limit(samples, name.split("/")[1])


def report_products(kind, samples):
    names = [f"product/{kind}/{shape}/{which}" for shape in SHAPES for which in DIRECTIONS]
    sides = ["ours"] + [peer for peer in PRODUCT_PEERS if samples.names(peer)]
    means = {side: geometric_mean(of_peak(samples, side, name) for name in names) for side in sides}
    rows = [(shape.replace("x", ", "), *(", ".join(f"{100 * of_peak(samples, side, f'product/{kind}/{shape}/{which}'):.0f}"
                                                   for which in DIRECTIONS) for side in sides)) for shape in SHAPES]
    rows.append(("geometric mean of all", *(f"{100 * means[side]:.1f}" for side in sides)))
    target = PRODUCT_TARGETS[kind]
    verdict = [("of the peak", percent(means["ours"]), percent(target), met(means["ours"], target))]
    for peer in sides[1:]:
        faster, wanted = means["ours"] / means[peer], 1.0 if peer == "oneDNN" and kind == "f32" else None
        verdict.append((f"beside {peer}", times(faster), times(wanted), met(faster, wanted)))
    return (f"Per cent of the peak of {limit(samples, kind) / 1e9:.0f} GFLOP/s; in each cell forward, dx, dw.\n\n"
            + table(("M, K, N", *sides), rows) + "\n" + table((f"{kind} products", "reached", "target", "met"), verdict))


def measure_few_rows(bench):
    return take_turns(Samples(), bench.ours("products", "^limit/read|^few_rows"), bench.rounds)


def report_few_rows(samples):
    rows = [(name.split("/")[1], name.rsplit(":", 1)[1], time(samples.seconds("ours", name)),
             f"{samples.counter('ours', name, 'bytes/s') / 1e9:.1f}",
             percent(samples.counter("ours", name, "bytes/s") / limit(samples, "read")))
            for name in sorted(samples.names("ours")) if name.startswith("few_rows")]
    return table(("format", "rows", "time", "GB/s", "of the read bandwidth"), rows)


# ---- training step

STEPS = (  # model, type, peers with the ratio that is wanted
    ("small", "f32", {"PyTorch": 2.0, "torch.compile": 1.65}),
    ("small", "bf16", {"PyTorch": 1.5}),
    ("gpt2_124m", "f32", {"PyTorch": 1.5, "llm.c": 4.0}),
    ("gpt2_124m", "bf16", {"PyTorch": 1.5}),
    ("seed_502m", "f32", {"PyTorch": 1.45}),
    ("seed_502m", "bf16", {"PyTorch": 1.5}),
)
IDEAL_TARGET = 0.8


def measure_steps(wanted_model, bench):
    samples = Samples()
    for model, kind, peers in STEPS:
        if model != wanted_model:
            continue
        name = f"step/{model}/{kind}"
        sides = bench.ours("train_step", f"^limit|^{name}/") + bench.peers.pytorch([name], bench.repetitions)
        for peer in peers:
            sides += bench.peers.step(peer, name, bench.repetitions)
        take_turns(samples, sides, 1 if model == "seed_502m" else bench.rounds)
    return samples


def ideal_step(samples, name):
    """Products at the multiply-add peak, plus the optimizer's bytes at the read bandwidth."""
    flops, moved = (samples.counter("ours", name, counter) for counter in ("flops", "optimizer_bytes"))
    return flops and flops / limit(samples, name.split("/")[2]) + moved / limit(samples, "read")


def report_steps(samples):
    rows = []
    for model, kind, peers in STEPS:
        name = f"step/{model}/{kind}"
        ours, ideal = samples.seconds("ours", name), ideal_step(samples, name)
        if ours is None:
            continue
        target = IDEAL_TARGET if kind == "f32" else None
        rows.append((f"{model} {kind}", time(ours), "ideal", time(ideal), percent(ideal / ours), percent(target),
                     met(ideal / ours, target)))
        for peer, wanted in peers.items():
            seconds = samples.seconds(peer, name)
            if seconds:
                rows.append((f"{model} {kind}", time(ours), peer, time(seconds), times(seconds / ours), times(wanted), met(seconds / ours, wanted)))
    return table(("training step", "ours", "beside", "its time", "ratio", "target", "met"), rows)


# ---- decode and prefill

DECODES = (  # model, type, wanted part of the bandwidth, peers with the ratio that is wanted
    ("seed_502m", "f32", 0.85, {"PyTorch": 3.0, "llama.cpp": 1.0}),
    ("seed_502m", "bf16", 0.85, {"PyTorch": 2.3, "llama.cpp": 1.0}),
    ("stories_110m", "f32", None, {"PyTorch": None, "llama2.c": 1.0}),
    ("stories_110m", "bf16", None, {"PyTorch": None}),
)
PREFILLS = (("seed_502m", "f32", 0.88, {"PyTorch": 1.0, "llama.cpp": 1.0}), ("seed_502m", "bf16", 0.80, {"PyTorch": 1.0, "llama.cpp": 1.0}))


def measure_inference(wanted_model, bench, kind_of_work, plan, suffix):
    samples = Samples()
    for model, kind, _target, peers in plan:
        if model != wanted_model:
            continue
        name = f"{kind_of_work}/{model}/{kind}{suffix}"
        sides = bench.ours("decode", f"^limit|^{name}/") + bench.peers.pytorch([name], bench.repetitions)
        for peer in peers:
            sides += bench.peers.inference(peer, name, bench.repetitions)
        take_turns(samples, sides, bench.rounds)
    return samples


def measure_decode(model, bench):
    samples = measure_inference(model, bench, "decode", DECODES, "/batch:1")
    return take_turns(samples, bench.ours("decode", rf"^decode/{model}/.*/batch:[248]/", side="batched"), 1)


def measure_prefill(model, bench):
    return measure_inference(model, bench, "prefill", PREFILLS, "")


def inference_rows(samples, kind_of_work, plan, suffix, ideal_of):
    for model, kind, target, peers in plan:
        name = f"{kind_of_work}/{model}/{kind}{suffix}"
        ours = samples.seconds("ours", name)
        if ours is None:
            continue
        ideal = ideal_of(name)
        yield (f"{model} {kind}", time(ours), "limit", time(ideal), percent(ideal / ours), percent(target), met(ideal / ours, target))
        for peer, wanted in peers.items():
            seconds = samples.seconds(peer, name)
            if seconds:
                faster = seconds / ours
                yield (f"{model} {kind}", time(ours), peer, time(seconds), times(faster), times(wanted), met(faster, wanted))


HEAD = ("ours", "beside", "its time", "ratio", "target", "met")


def report_decode(samples):
    rows = inference_rows(samples, "decode", DECODES, "/batch:1", lambda name: samples.counter("ours", name, "bytes") / limit(samples, "read"))
    text = table(("a token behind 128 others", *HEAD), rows)
    batched = []
    for name in sorted(samples.names("batched")):
        seconds, moved = samples.seconds("batched", name), samples.counter("batched", name, "bytes")
        batch = int(name.rsplit(":", 1)[1])
        batched.append((name.split("/")[2], batch, time(seconds), number(batch / seconds), percent(moved / limit(samples, "read") / seconds)))
    return text + "\nSeveral sequences at once, weights read once:\n\n" + table(
        ("type", "sequences", "time of a step", "tokens/s", "of the bandwidth limit"), batched)


def report_prefill(samples):
    rows = inference_rows(samples, "prefill", PREFILLS, "",
                          lambda name: samples.counter("ours", name, "flops") / limit(samples, name.split("/")[2]))
    return table(("512 tokens", *HEAD), rows)


ITEMS = (
    Item("roofline", "What the machine can do", measure_roofline, report_roofline),
    *(Item(f"products_{kind}", f"Products, {kind}", partial(measure_products, kind), partial(report_products, kind))
      for kind in PRODUCT_TARGETS),
    Item("few_rows", "Few rows times a stored matrix (1536 x 131072)", measure_few_rows, report_few_rows),
    *(Item(f"step_{model}", f"Training step, {model}", partial(measure_steps, model), report_steps)
      for model in ("small", "gpt2_124m", "seed_502m")),
    *(Item(f"decode_{model}", f"Decode, {model}", partial(measure_decode, model), report_decode) for model in ("seed_502m", "stories_110m")),
    Item("prefill_seed_502m", "Prefill, seed_502m", partial(measure_prefill, "seed_502m"), report_prefill),
)
