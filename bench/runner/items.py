"""The items of bench/RESULTS.md: what each runs, and the tables it makes of that."""
from functools import partial

from runner.growth import GROWTH_ITEMS
from runner.item import Item, limit, limit_row, peer_row, verdict_table
from runner.published import PUBLISHED_ITEMS
from runner.samples import Samples, names_of, take_turns
from runner.tables import geometric_mean, met, number, percent, table, time, times


# ---- what the machine can do


def measure_roofline(bench):
    return take_turns(Samples(), bench.ours("roofline", "."), bench.rounds)


def report_roofline(samples):
    rows = []
    for name in sorted(samples.names("ours"), key=lambda name: (int(name.rsplit(":", 1)[1]), name)):
        what, threads = name.rsplit("/threads:", 1)
        flops, read = samples.counter("ours", name, "FLOP/s"), samples.counter("ours", name, "bytes/s")
        rows.append((what, threads, f"{flops / 1e9:.0f} GFLOP/s" if flops else f"{read / 1e9:.1f} GB/s"))
    return table(("limit", "threads", "median"), rows)


# ---- products

DIRECTIONS = ("forward", "dx", "dw")
PRODUCT_PEERS = ("oneDNN", "PyTorch")
PRODUCT_TARGETS = {"f32": 0.92, "bf16": 0.80}


def measure_products(kind, bench):
    sides = bench.ours("products", f"^limit/{kind}|^product/{kind}/")
    sides += bench.peers.onednn(f"^product/{kind}/", bench.repetitions, bench.min_seconds)
    sides += bench.peers.pytorch(names_of(bench.binaries / "products", f"^product/{kind}/"), bench.repetitions)
    return take_turns(Samples(), sides, bench.rounds)


def product_flops(name):
    m, k, n = map(int, name.split("/")[2].split("x"))
    return 2 * m * k * n


def of_peak(samples, side, name):
    """The fraction of the multiply-add peak that a product reaches."""
    seconds = samples.seconds(side, name)
    return seconds and product_flops(name) / seconds / limit(samples, name.split("/")[1])


def product_names(kind, samples):
    return [name for name in samples.names("ours") if name.startswith(f"product/{kind}/")]


def product_shapes(kind, samples):
    """"MxKxN" of all, the largest first."""
    flops = {name.split("/")[2]: product_flops(name) for name in sorted(product_names(kind, samples))}
    return sorted(flops, key=flops.get, reverse=True)


def product_means(kind, samples):
    """side -> geometric mean over all products of the fraction of the peak."""
    sides = ["ours"] + [peer for peer in PRODUCT_PEERS if samples.names(peer)]
    return {side: geometric_mean(of_peak(samples, side, name) for name in product_names(kind, samples)) for side in sides}


def report_products(kind, samples):
    means = product_means(kind, samples)
    rows = [(shape.replace("x", ", "), *(", ".join(f"{100 * of_peak(samples, side, f'product/{kind}/{shape}/{which}'):.0f}"
                                                   for which in DIRECTIONS) for side in means)) for shape in product_shapes(kind, samples)]
    rows.append(("geometric mean of all", *(f"{100 * mean:.1f}" for mean in means.values())))
    return (f"Per cent of the peak of {limit(samples, kind) / 1e9:.0f} GFLOP/s; in each cell forward, dx, dw.\n\n"
            + table(("M, K, N", *means), rows) + "\n" + verdict_table(product_verdicts(kind, samples)))


def product_verdicts(kind, samples):
    means, target, work = product_means(kind, samples), PRODUCT_TARGETS[kind], f"{kind} products"
    ours = means.pop("ours")
    yield (work, percent(ours, 1), "limit", "100 %", percent(ours, 1), percent(target), met(ours, target))
    for peer, mean in means.items():
        wanted = 1.0 if peer == "oneDNN" and kind == "f32" else None
        yield (work, percent(ours, 1), peer, percent(mean, 1), times(ours / mean), times(wanted), met(ours / mean, wanted))


def measure_few_rows(bench):
    return take_turns(Samples(), bench.ours("products", "^limit/read|^few_rows"), bench.rounds)


def report_few_rows(samples):
    rows = [(name.split("/")[1], name.rsplit(":", 1)[1], time(samples.seconds("ours", name)),
             f"{samples.counter('ours', name, 'bytes/s') / 1e9:.1f}",
             percent(samples.counter("ours", name, "bytes/s") / limit(samples, "read")))
            for name in sorted(samples.names("ours")) if name.startswith("few_rows")]
    return table(("format", "rows", "time", "GB/s", "of the read bandwidth"), rows)


# ---- one piece of work beside its peers


def measure_beside_peers(samples, bench, program, name_filter, name, peers, rounds):
    """Adds samples of ours that the filter chooses, in turn with those of PyTorch and of the other peers for the work called `name`."""
    sides = bench.ours(program, f"^limit|{name_filter}") + bench.peers.pytorch([name], bench.repetitions)
    for peer in peers:
        sides += bench.peers.other(peer, name, bench.repetitions)
    take_turns(samples, sides, rounds)


def verdicts_of_work(samples, name, work, ideal_of, target, peers):
    """The rows of that work, when it was measured: beside its ideal time, and beside each peer that was measured."""
    ours = samples.seconds("ours", name)
    if ours is None:
        return
    ideal = ideal_of(samples, name)
    yield limit_row(work, ours, ideal, target)
    for peer, wanted in peers.items():
        seconds = samples.seconds(peer, name)
        if seconds:
            yield peer_row(work, ours, peer, seconds, wanted, ideal)


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
        name, rounds = f"step/{model}/{kind}", {"small": bench.rounds, "seed_502m": 1}.get(model, bench.few_rounds)
        measure_beside_peers(samples, bench, "train_step", f"^{name}/", name, peers, rounds)
    return samples


def ideal_step(samples, name):
    """Products at the multiply-add peak, plus the optimizer's bytes at the read bandwidth."""
    flops, moved = (samples.counter("ours", name, counter) for counter in ("flops", "optimizer_bytes"))
    return flops / limit(samples, name.split("/")[2], name) + moved / limit(samples, "read", name)


def step_verdicts(samples):
    for model, kind, peers in STEPS:
        name, work = f"step/{model}/{kind}", f"step of {model}, {kind}"
        yield from verdicts_of_work(samples, name, work, ideal_step, IDEAL_TARGET if kind == "f32" else None, peers)
        if model == "seed_502m" and kind == "f32" and samples.seconds("ours", name):
            yield from memory_verdicts(samples, name, f"memory of the {work}")


def gigabytes(value):
    return "" if value is None else f"{value / 1e9:.2f} GB"


def memory_verdicts(samples, name, work):
    """No more than 16 bytes a parameter and a quarter, and less than PyTorch."""
    ours, theirs = samples.counter("ours", name, "resident_bytes"), samples.counter("PyTorch", name, "resident_bytes")
    allowed = 16 * 1.25 * samples.counter("ours", name, "parameters")
    yield (work, gigabytes(ours), "16 bytes a parameter and 25 %", gigabytes(allowed), percent(ours / allowed), "100 %", met(allowed, ours))
    if theirs:
        yield (work, gigabytes(ours), "PyTorch", gigabytes(theirs), percent(ours / theirs), "100 %", met(theirs, ours))


def report_steps(samples):
    rows = []
    for model, kind, _peers in STEPS:
        name = f"step/{model}/{kind}"
        if samples.seconds("ours", name):
            rows.append((f"{model}, {kind}", *(gigabytes(samples.counter(*key)) for key in (
                ("ours", name, "pool_bytes"), ("ours", name, "resident_bytes"), ("PyTorch", name, "resident_bytes")))))
    return (verdict_table(step_verdicts(samples)) + "\nMemory, highest: what tensors hold, and what is resident of the process.\n\n"
            + table(("training step", "our tensors", "our process", "PyTorch's process"), rows))


# ---- decode and prefill

DECODES = (  # model, type, wanted part of the bandwidth, peers with the ratio that is wanted
    ("seed_502m", "f32", 0.85, {"PyTorch": 3.0, "llama.cpp": 1.0}),
    ("seed_502m", "bf16", 0.85, {"PyTorch": 2.3, "llama.cpp": 1.0}),
    ("stories_110m", "f32", None, {"PyTorch": None, "llama2.c": 1.0}),
    ("stories_110m", "bf16", None, {"PyTorch": None}),
)
PREFILLS = (("seed_502m", "f32", 0.88, {"PyTorch": 1.0, "llama.cpp": 1.0}), ("seed_502m", "bf16", 0.80, {"PyTorch": 1.0, "llama.cpp": 1.0}))


def measure_inference(kind_of_work, plan, suffix, wanted_model, bench):
    """Ours with all batches, peers with the name that ends in `suffix`."""
    samples = Samples()
    for model, kind, _target, peers in plan:
        if model == wanted_model:
            name, rounds = f"{kind_of_work}/{model}/{kind}", bench.few_rounds if model == "seed_502m" else bench.rounds
            measure_beside_peers(samples, bench, "decode", f"^{name}/", name + suffix, peers, rounds)
    return samples


measure_decode = partial(measure_inference, "decode", DECODES, "/batch:1")
measure_prefill = partial(measure_inference, "prefill", PREFILLS, "")


def inference_verdicts(kind_of_work, plan, suffix, ideal_of, samples):
    for model, kind, target, peers in plan:
        name, work = f"{kind_of_work}/{model}/{kind}{suffix}", f"{kind_of_work} {model}, {kind}"
        yield from verdicts_of_work(samples, name, work, ideal_of, target, peers)


def ideal_decode(samples, name):
    """Weights and cache read once."""
    return samples.counter("ours", name, "bytes") / limit(samples, "read", name)


def ideal_prefill(samples, name):
    return samples.counter("ours", name, "flops") / limit(samples, name.split("/")[2], name)


decode_verdicts = partial(inference_verdicts, "decode", DECODES, "/batch:1", ideal_decode)
prefill_verdicts = partial(inference_verdicts, "prefill", PREFILLS, "", ideal_prefill)


def report_decode(samples):
    rows = []
    for name in sorted(name for name in samples.names("ours") if name.startswith("decode/")):
        seconds, batch = samples.seconds("ours", name), int(name.rsplit(":", 1)[1])
        rows.append((name.split("/")[2], batch, time(seconds), number(batch / seconds), percent(ideal_decode(samples, name) / seconds)))
    return ("A token behind 128 others.\n\n" + verdict_table(decode_verdicts(samples))
            + "\nSeveral sequences at once, weights read once for all:\n\n"
            + table(("type", "sequences", "time of a step", "tokens/s", "of the bandwidth limit"), rows))


def report_prefill(samples):
    return "512 tokens, logits of the last.\n\n" + verdict_table(prefill_verdicts(samples))


# ---- other kernels


def measure_kernels(bench):
    return take_turns(Samples(), bench.ours("kernels", "."), 1)


def report_kernels(samples):
    rows = []
    for name in sorted(samples.names("ours")):
        flops, moved = samples.counter("ours", name, "FLOP/s"), samples.counter("ours", name, "bytes/s")
        if name.startswith("limit"):
            continue
        words = name.split("/")
        kind = next(word for word in words if word in ("f32", "bf16"))
        rate, of = (f"{flops / 1e9:.0f} GFLOP/s", percent(flops / limit(samples, "f32"))) if flops else (f"{moved / 1e9:.0f} GB/s", "")
        rows.append((" ".join(words[: words.index(kind)]), kind, words[-1], time(samples.seconds("ours", name)), rate, of))
    return ("Sizes: rows x columns, for attention and RoPE batch x length x heads x KV heads x width. What fits the caches passes faster than "
            f"memory is read, {limit(samples, 'read') / 1e9:.0f} GB/s.\n\n" + table(("kernel", "type", "size", "time", "rate", "of the f32 peak"), rows))


ITEMS = (
    Item("roofline", "What the machine can do", measure_roofline, report_roofline),
    *(Item(f"products_{kind}", f"Products, {kind}", *(partial(f, kind) for f in (measure_products, report_products, product_verdicts)))
      for kind in PRODUCT_TARGETS),
    Item("few_rows", "Few rows times a stored matrix (1536 x 131072)", measure_few_rows, report_few_rows),
    Item("kernels", "Other kernels", measure_kernels, report_kernels),
    *(Item(f"step_{model}", f"Training step, {model}", partial(measure_steps, model), report_steps, step_verdicts)
      for model in ("small", "gpt2_124m", "seed_502m")),
    *(Item(f"decode_{model}", f"Decode, {model}", partial(measure_decode, model), report_decode, decode_verdicts)
      for model in ("seed_502m", "stories_110m")),
    Item("prefill_seed_502m", "Prefill, seed_502m", partial(measure_prefill, "seed_502m"), report_prefill, prefill_verdicts),
    *PUBLISHED_ITEMS,
    *GROWTH_ITEMS,
)
