"""The training step of bench/train_step.cpp in PyTorch, eager, on the CPU: same sizes, same batch, AdamW, clipping.

Prints "train_step pytorch <median ms> <least ms>". Needs the PyPI package torch.
"""
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, heads, kv_heads, width):
        super().__init__()
        self.heads, self.kv_heads, self.width = heads, kv_heads, width
        self.q = nn.Linear(d, heads * width, bias=False)
        self.k = nn.Linear(d, kv_heads * width, bias=False)
        self.v = nn.Linear(d, kv_heads * width, bias=False)
        self.o = nn.Linear(heads * width, d, bias=False)
        self.q_norm = nn.RMSNorm(width, eps=1e-6)
        self.k_norm = nn.RMSNorm(width, eps=1e-6)

    def forward(self, x, cos, sin):
        batch, time_, _ = x.shape

        def split(y, heads):
            return y.view(batch, time_, heads, self.width)

        def rotate(y):
            a, b = y.chunk(2, -1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

        q = rotate(self.q_norm(split(self.q(x), self.heads)).transpose(1, 2))
        k = rotate(self.k_norm(split(self.k(x), self.kv_heads)).transpose(1, 2))
        v = split(self.v(x), self.kv_heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o(y.transpose(1, 2).reshape(batch, time_, -1))


class Block(nn.Module):
    def __init__(self, d, heads, kv_heads, width, ffn):
        super().__init__()
        self.attn_norm, self.mlp_norm = nn.RMSNorm(d, eps=1e-6), nn.RMSNorm(d, eps=1e-6)
        self.attn = Attention(d, heads, kv_heads, width)
        self.gate, self.up = nn.Linear(d, ffn, bias=False), nn.Linear(d, ffn, bias=False)
        self.down = nn.Linear(ffn, d, bias=False)

    def forward(self, x, cos, sin):
        x = x + self.attn(self.attn_norm(x), cos, sin)
        h = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self, vocab=65, layers=4, d=128, heads=4, kv_heads=2, width=32, ffn=352, length=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(Block(d, heads, kv_heads, width, ffn) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(d, eps=1e-6), nn.Linear(d, vocab, bias=False)
        frequency = 10000.0 ** (-torch.arange(0, width, 2).float() / width)
        angle = torch.outer(torch.arange(length).float(), frequency)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, ids, targets):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def main():
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    torch.manual_seed(0)
    model = Model()
    decayed = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=3e-4, betas=(0.9, 0.95))
    ids, targets = torch.randint(0, 65, (16, 64)), torch.randint(0, 65, (16, 64))
    times = []
    for step in range(120):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = model(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        if step >= 20:
            times.append((time.perf_counter() - start) * 1e3)
    print(f"train_step pytorch {statistics.median(times):.2f} {min(times):.2f}")


if __name__ == "__main__":
    main()
