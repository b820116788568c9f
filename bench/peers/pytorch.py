"""Runs the work of our benchmarks in PyTorch, on the CPU, and prints one JSON object a sample: name, seconds, others, ...

The names are those of our programs: product/f32/512x1536x4096/forward, step/small/f32, decode/seed_502m/bf16/batch:1, prefill/seed_502m/f32, ...
bf16 is autocast over f32 weights in a step, bf16 weights in inference. Needs the PyPI package torch.
"""
import argparse
import json
import resource
import sys

import torch

from load import samples
from models import BATCHES, CONFIGS, Model

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
CONTEXT, PROMPT = 128, 512  # tokens behind which a token is decoded, and of a prefill


def report(name, call, count, warm=2, **more):
    for _ in range(warm):
        call()
    for seconds, others in samples(call, count):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"name": name, "seconds": seconds, "others": others, "resident_bytes": peak, **more}), flush=True)


@torch.inference_mode()
def product(name, type_name, m, k, n, which, count):
    x, w, y = (torch.randn(shape).to(TYPES[type_name]) for shape in ((m, k), (n, k), (m, n)))
    calls = {"forward": lambda: torch.nn.functional.linear(x, w), "dx": lambda: torch.mm(y, w), "dw": lambda: torch.mm(y.t(), x)}
    report(name, calls[which], count)


def step(name, model_name, type_name, compiled, count):
    c, shape = CONFIGS[model_name], BATCHES[model_name]
    model = Model(c)
    loss_of = torch.compile(model) if compiled else model
    decayed, others = ([p for p in model.parameters() if (p.ndim > 1) == matrix] for matrix in (True, False))
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), fused=True)
    ids, targets = torch.randint(0, c.vocab, shape), torch.randint(0, c.vocab, shape)

    def call():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=type_name == "bf16"):
            loss = loss_of(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    report(name, call, count)


@torch.inference_mode()
def decode(name, model_name, type_name, batch, count):
    c, dtype = CONFIGS[model_name], TYPES[type_name]
    model = Model(c).to(dtype)
    caches, prompt, token = model.caches(batch, 2 * CONTEXT, dtype), torch.randint(0, c.vocab, (batch, CONTEXT)), torch.zeros(batch, 1).long()
    model.last_logits(prompt, caches, 0)
    report(name, lambda: model.last_logits(token, caches, CONTEXT), count)


@torch.inference_mode()
def prefill(name, model_name, type_name, count):
    c, dtype = CONFIGS[model_name], TYPES[type_name]
    model, prompt = Model(c).to(dtype), torch.randint(0, c.vocab, (1, PROMPT))
    caches = model.caches(1, PROMPT, dtype)
    report(name, lambda: model.last_logits(prompt, caches, 0), count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--compile", action="store_true", help="a step through torch.compile")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    for name in options.names:
        words = name.split("/")
        if words[0] == "product" and len(words) == 4:
            product(name, words[1], *map(int, words[2].split("x")), words[3], options.samples)
        elif words[0] == "step" and len(words) == 3:
            step(name, words[1], words[2], options.compile, options.samples)
        elif words[0] == "decode" and len(words) == 4 and words[3].startswith("batch:"):
            decode(name, words[1], words[2], int(words[3][6:]), options.samples)
        elif words[0] == "prefill" and len(words) == 3:
            prefill(name, words[1], words[2], options.samples)
        else:
            sys.exit(f"pytorch.py: no work is called {name}")


if __name__ == "__main__":
    main()
