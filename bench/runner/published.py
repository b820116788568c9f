"""The item on a published model, SmolLM2-135M-Instruct: the file as published and others that `quantize` makes of it, beside llama.cpp."""
import os
import subprocess
import sys
import time as clock
from functools import partial
from pathlib import Path

from peers.load import Load
from runner.item import Item, peer_row, verdict_table
from runner.samples import Sample, Samples, environment, take_turns
from runner.tables import met, percent, ratio, table, time, times

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "SmolLM2-135M-Instruct"
PUBLISHED, MADE = "Q4_1", ("Q4_0", "Q8_0", "BF16")
PREFILL_TARGET = {PUBLISHED: 2.0}  # as a multiple of the peer's speed; 1.3 for others
DECODE_TARGET = 1.5
WORKS = {"prefill:128": "pp128", "prefill:512": "pp512", "decode:64": "tg64"}  # our name of it, and llama-bench's
SHORT = "The capital of France is"
LONG = "The quick brown fox jumps over the lazy dog, and the dog does not mind it at all. " * 26  # 494 tokens
STARTS = {"start": (SHORT, 1, False), "start, file not in memory": (SHORT, 1, True), "answer": (LONG, 64, False)}  # prompt, tokens, evict


def fetch(path):
    """The published file, or None with a message; the tests fetch it by the same program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([sys.executable, "-B", str(ROOT / "tests" / "real" / "fetch.py"), str(path)], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode not in (0, 77):
        raise SystemExit(f"{path}: {done.stdout}")
    if done.returncode == 77:
        print(f"Left out, {NAME}: {done.stdout.strip()}", file=sys.stderr)
        return None
    return path


def model_file(kind, binaries, folder):
    """The file in a format, or None. What `quantize` made is made again: it may have changed."""
    published = fetch(folder / f"{NAME}.{PUBLISHED}.gguf")
    if published is None or kind == PUBLISHED:
        return published
    made = folder / f"{NAME}.{kind}.gguf"
    subprocess.run([str(binaries / "quantize"), str(published), str(made), "--format", kind.lower(), "--overwrite"], stdout=subprocess.DEVNULL,
                   check=True)
    return made


def evict(path):
    """The system forgets what it keeps of a file in memory, where it can be told to."""
    if hasattr(os, "posix_fadvise"):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run_process(command, threads):
    """One program from its start to its end: seconds, cores of others, and the highest resident memory of it as the system tells its
    parent."""
    before, start = Load(), clock.perf_counter()
    with subprocess.Popen(command, env=environment(threads), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        seconds = clock.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)[:200]}: exit status {process.returncode}")
    return Sample(seconds, Load().others_since(before), {"resident_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)})


def starts(command_of, path, threads, count):
    """Yields (name, Sample) of whole processes; command_of(path, prompt, tokens)."""
    for work, (prompt, tokens, cold) in STARTS.items():
        for _ in range(count if tokens == 1 else 1):
            if cold:
                evict(path)
            yield work, run_process(command_of(path, prompt, tokens), threads)


def sides(bench, path):
    """[(side, run)] for take_turns: ours and llama.cpp on one file."""
    threads, count = str(bench.threads), bench.repetitions
    generate, llama = bench.binaries / "generate", bench.binaries / "llama_generate"

    def ours(file, prompt, tokens):
        return [str(generate), str(file), "--prompt", prompt, "--max-new-tokens", str(tokens), "--temperature", "0", "--threads", threads]

    def theirs(file, prompt, tokens):
        return [str(llama), str(file), prompt, str(tokens), threads]

    def our_rates():
        for _side, run in bench.ours("smollm2", ".", extra={"LLM_BENCH_GGUF": str(path)}):
            for name, sample in run():
                yield name.split("/", 1)[1], sample

    out = [("ours", our_rates)]
    out += bench.peers.llama_bench(path, prompts=(128, 512), drawn=64, count=count)
    out.append(("ours", lambda: starts(ours, path, bench.threads, count)))
    if llama.exists():
        out.append(("llama.cpp", lambda: starts(theirs, path, bench.threads, count)))
    return out


def measure(kind, bench):
    path = model_file(kind, bench.binaries, bench.peers.files)
    return take_turns(Samples(), sides(bench, path), bench.rounds) if path else Samples()


def both(samples, name, read=Samples.seconds, *key):
    return read(samples, "ours", name, *key), read(samples, "llama.cpp", name, *key)


def resident(samples, name):
    return both(samples, name, Samples.counter, "resident_bytes")


def verdicts(kind, samples):
    for work, title in WORKS.items():
        ours, theirs = both(samples, work)
        target = DECODE_TARGET if work.startswith("decode") else PREFILL_TARGET.get(kind, 1.3)
        if ours and theirs:
            yield peer_row(f"SmolLM2 {kind}, {title}", ours, "llama.cpp", theirs, target)
    for work in list(STARTS)[:2]:
        ours, theirs = both(samples, work)
        if ours and theirs:
            yield peer_row(f"SmolLM2 {kind}, first token, {work}", ours, "llama.cpp", theirs, 1.0)
    for work in ("start", "answer"):
        ours, theirs = resident(samples, work)
        if ours and theirs:
            yield (f"SmolLM2 {kind}, memory, {work}", megabytes(ours), "llama.cpp", megabytes(theirs), percent(ours / theirs), percent(1.0),
                   met(theirs / ours, 1.0))


def megabytes(value):
    return "" if value is None else f"{value / 1e6:.0f} MB"


def rates(samples):
    """Rows of tokens a second."""
    for work, title in WORKS.items():
        tokens = int(work.split(":")[1])
        ours, theirs = (seconds and tokens / seconds for seconds in both(samples, work))
        yield title, f"{ours:.0f}", "" if theirs is None else f"{theirs:.0f}", times(ratio(ours, theirs))


def whole_processes(samples):
    for work in STARTS:
        yield (work, *map(time, both(samples, work)), *map(megabytes, resident(samples, work)))


def report(kind, samples):
    if not samples.names("ours"):
        return "The published file could not be had.\n"
    return (verdict_table(verdicts(kind, samples)) + "\nTokens a second: prefill of 128 and 512 tokens, and 64 tokens one by one from an empty cache.\n\n"
            + table(("work", "ours", "llama.cpp", "ratio"), rates(samples))
            + "\nWhole processes, from start to end, and their highest resident memory. start: five tokens are read and one is drawn; answer: 494 "
            "and 64.\n\n" + table(("work", "ours", "llama.cpp", "memory, ours", "llama.cpp's"), whole_processes(samples)))


def measure_lookup(bench):
    path = fetch(bench.peers.files / f"{NAME}.{PUBLISHED}.gguf")
    if path is None:
        return Samples()
    return take_turns(Samples(), bench.ours("lookup", "^lookup/", extra={"LLM_BENCH_GGUF": str(path)}), bench.rounds)


def report_lookup(samples):
    if not samples.names("ours"):
        return "The published file could not be had.\n"
    rows = []
    for name in samples.names("ours"):
        if samples.counter("ours", name, "same") != 1:
            raise SystemExit(f"{name}: other tokens than those of plain decoding")
        _, text, way = name.split("/")
        if way == "plain":
            drafts = f"lookup/{text}/drafts"
            plain, drafted = (samples.seconds("ours", key) for key in (name, drafts))
            accepted, proposed, tokens = (int(samples.counter("ours", drafts, key)) for key in ("accepted", "drafted", "tokens"))
            rows.append((text, tokens, time(plain), time(drafted), times(plain / drafted), f"{accepted} of {proposed}"))
    return (f"The {PUBLISHED} file, up to 64 tokens at temperature 0 behind a prompt that is read already: plain, and with `PromptLookup()`, which gave the same "
            "tokens. program: 15 lines that stand there twice; paragraph: one to quote; story: a free one.\n\n"
            + table(("text", "tokens", "plain", "with drafts", "gain", "drafts accepted"), rows))


PUBLISHED_ITEMS = (*(Item(f"smollm2_{kind.lower()}", f"{NAME} in {kind}", *(partial(f, kind) for f in (measure, report, verdicts)))
                     for kind in (PUBLISHED, *MADE)),
                   Item("lookup", f"Drafts by lookup, {NAME}", measure_lookup, report_lookup))
