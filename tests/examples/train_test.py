#!/usr/bin/env python3
"""Runs the training program: the same seed twice, Ctrl-C and resuming, and what it says about mistakes.

    train_test.py PROGRAM
"""
import csv
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SMALL = ["--batch", "2", "--length", "16", "--threads", "1"]
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=300)


def losses(folder):
    with open(folder / "metrics.csv", encoding="utf-8", newline="") as file:
        return [(row["step"], row["loss"], row["grad_norm"], row["lr"], row["validation_loss"]) for row in csv.DictReader(file)]


def checkpoint(folder):
    return (folder / "checkpoint.safetensors").read_bytes()


def same_seed(scratch, text):
    """Two runs, and one of another seed."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        result = run("--data", text, "--steps", 12, "--every", 5, "--seed", seed, *SMALL, "--out", scratch / name)
        check(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
        for pattern in (r"unigram +\d\.\d{4} nats", r"threads +1\n", r"parameters  869760", r"(?m)^ +10 +3\.00e-05 +\d\.\d{4}", r"(?m)^ +12 ",
                        r"validation +\d\.\d{4} nats.*unigram", r"sample +(.|\n){30,} >>> (.|\n){300}"):
            check(re.search(pattern, result.stdout), f"the output lacks {pattern!r}:\n{result.stdout}")
    rows = losses(scratch / "a")
    check([int(row[0]) for row in rows] == list(range(1, 13)), f"steps in metrics.csv: {rows}")
    check([row[0] for row in rows if row[4]] == ["1", "5", "10", "12"], f"validation losses in metrics.csv: {rows}")
    check(rows == losses(scratch / "b") and checkpoint(scratch / "a") == checkpoint(scratch / "b"), "the same seed gave another result")
    check(checkpoint(scratch / "a") != checkpoint(scratch / "c"), "another seed gave the same result")
    picture = scratch / "a" / "loss.svg"
    check(not picture.exists() or "unigram model" in picture.read_text(encoding="utf-8"), "loss.svg does not show the unigram loss")


def interrupted(scratch, text, dtype):
    """Ctrl-C after the first line, then --resume, against an uninterrupted run."""
    whole, parts = (scratch / f"{name}_{dtype}" for name in ("whole", "parts"))
    arguments = ["--data", text, "--dtype", dtype, "--steps", 400, "--every", 200, *SMALL]
    run(*arguments, "--out", whole)
    process = subprocess.Popen([PROGRAM, *map(str, arguments), "--out", str(parts)], stdout=subprocess.PIPE, encoding="utf-8")
    for line in process.stdout:
        if re.match(r" +1 ", line):
            break
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    check(process.wait(timeout=60) == 130, f"status {process.returncode} after Ctrl-C")
    check(re.search(r"interrupted after step \d+ of 400; go on with: train --resume --out ", rest), f"said after Ctrl-C: {rest}")
    result = run("--resume", "--every", 200, "--threads", 1, "--out", parts)
    check(result.returncode == 0, f"resuming: status {result.returncode}: {result.stderr}")
    check(checkpoint(parts) == checkpoint(whole), "the resumed run ended elsewhere")
    strip = [[row[:4] for row in losses(folder)] for folder in (parts, whole)]
    check(strip[0] == strip[1], "the resumed run's metrics differ")
    longer = run("--resume", "--steps", 405, "--threads", 1, "--out", parts)
    check(longer.returncode == 0 and len(losses(parts)) == 405, f"a longer run: {longer.stdout}{longer.stderr}")


def in_bf16(scratch, text):
    """60 steps in bf16 stay near those in f32."""
    arguments = ["--data", text, "--steps", 60, "--every", 30, "--max-lr", "1e-3", "--warmup", 10, *SMALL]
    for dtype in ("f32", "bf16"):
        result = run(*arguments, "--dtype", dtype, "--out", scratch / dtype)
        check(result.returncode == 0 and f" in {dtype}\n" in result.stdout, f"--dtype {dtype}: {result.returncode} {result.stderr}")
    means = [sum(float(row[1]) for row in losses(scratch / dtype)[40:]) / 20 for dtype in ("f32", "bf16")]
    check(means[0] < 0.8 * float(losses(scratch / "f32")[0][1]), f"f32 learned little: {means}")
    check(0 < abs(means[1] / means[0] - 1) < 0.01, f"mean losses of f32 and bf16: {means}")


def mistakes(scratch, text):
    kept = checkpoint(scratch / "a")
    other = scratch / "other.txt"
    other.write_text(text.read_text(encoding="utf-8"), encoding="utf-8")
    run("--data", other, "--steps", 1, *SMALL, "--out", scratch / "other")
    other.write_text("something else " * 100, encoding="utf-8")
    (scratch / "latin1.txt").write_bytes(b"caf\xe9 " * 100)
    (scratch / "short.txt").write_text("short", encoding="utf-8")
    for arguments, pattern in (
            (["--data", scratch / "missing.txt"], "missing.txt"),
            (["--data", scratch / "latin1.txt"], "latin1.txt.*not valid UTF-8 at byte 3"),
            (["--data", scratch / "short.txt"], "5 tokens"),
            (["--data", text, "--config", "gpt5"], "no config is named gpt5; there are modern_small, llama_small, gpt2_small"),
            (["--resume", "--out", scratch / "missing"], "missing/checkpoint.safetensors"),
            (["--out", scratch / "other"], "an earlier run's"),
            (["--resume", "--out", scratch / "other"], "other.txt: is not the text that training began with"),
            (["--resume", "--seed", "3", "--out", scratch / "a"], "--seed excludes --resume"),
            (["--steps", "0"], "--steps")):
        result = run(*arguments, *([] if "--out" in arguments else ["--out", scratch / "mistake"]))
        check(result.returncode > 0 and re.search(pattern, result.stderr + result.stdout), f"{arguments}: {result.returncode} {result.stderr}")
    result = run("--data", text, "--max-lr", "1e30", "--warmup", 0, "--steps", 50, *SMALL, "--out", scratch / "diverged")
    check(result.returncode == 1 and "not finite" in result.stderr, f"diverging: {result.returncode} {result.stderr}")
    check(checkpoint(scratch / "a") == kept, "a mistake touched a checkpoint")


def main():
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        text = scratch / "text.txt"
        text.write_text("".join(f"\x1b[32mline {i}\x1b[0m: {i * i} squared, \u4e2d {'ab' * (i % 5)}\n" for i in range(200)), encoding="utf-8")
        same_seed(scratch, text)
        for dtype in ("f32", "bf16"):
            interrupted(scratch, text, dtype)
        in_bf16(scratch, text)
        mistakes(scratch, text)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    PROGRAM = sys.argv[1]
    main()
