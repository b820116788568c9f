"""The models of bench/support/models.hpp in PyTorch: one definition for all of them."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Config:
    vocab: int
    layers: int
    d: int
    heads: int
    kv_heads: int
    width: int
    ffn: int
    length: int
    gpt2: bool = False  # LayerNorm, learned positions, GELU and biases instead of RMSNorm, RoPE and SwiGLU
    qk_norm: bool = False
    tied: bool = True
    eps: float = 1e-5


CONFIGS = {
    "small": Config(65, 4, 128, 4, 2, 32, 352, 64, qk_norm=True, tied=False, eps=1e-6),
    "gpt2_124m": Config(50257, 12, 768, 12, 12, 64, 3072, 1024, gpt2=True),
    "seed_502m": Config(32000, 18, 1536, 12, 4, 128, 4096, 2048),
    "stories_110m": Config(32000, 12, 768, 12, 12, 64, 2048, 1024),
}
BATCHES = {"small": (16, 64), "gpt2_124m": (4, 64), "seed_502m": (1, 256)}  # of one training step


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.width, self.eps = nn.Parameter(torch.ones(width)), width, eps

    def forward(self, x):
        return F.rms_norm(x, (self.width,), self.weight.to(x.dtype), self.eps)


def norm(c, width):
    return nn.LayerNorm(width, c.eps) if c.gpt2 else RMSNorm(width, c.eps)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.q = nn.Linear(c.d, c.heads * c.width, bias=c.gpt2)
        self.k = nn.Linear(c.d, c.kv_heads * c.width, bias=c.gpt2)
        self.v = nn.Linear(c.d, c.kv_heads * c.width, bias=c.gpt2)
        self.o = nn.Linear(c.heads * c.width, c.d, bias=c.gpt2)
        self.q_norm, self.k_norm = (norm(c, c.width), norm(c, c.width)) if c.qk_norm else (nn.Identity(), nn.Identity())

    def forward(self, x, rotation, cache, start):
        c, (batch, time, _) = self.c, x.shape
        q = self.q_norm(self.q(x).view(batch, time, c.heads, c.width)).transpose(1, 2)
        k = self.k_norm(self.k(x).view(batch, time, c.kv_heads, c.width)).transpose(1, 2)
        v = self.v(x).view(batch, time, c.kv_heads, c.width).transpose(1, 2)
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        if cache is not None:
            keys, values = cache
            keys[:, :, start : start + time], values[:, :, start : start + time] = k, v
            k, v = keys[:, :, : start + time], values[:, :, : start + time]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=time > 1, enable_gqa=c.heads != c.kv_heads)
        return self.o(y.transpose(1, 2).reshape(batch, time, -1))


def rotate(x, rotation):
    cos, sin = (table.to(x.dtype) for table in rotation)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate = None if c.gpt2 else nn.Linear(c.d, c.ffn, bias=False)
        self.up, self.down = nn.Linear(c.d, c.ffn, bias=c.gpt2), nn.Linear(c.ffn, c.d, bias=c.gpt2)

    def forward(self, x):
        if self.gate is None:
            return self.down(F.gelu(self.up(x), approximate="tanh"))
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attn_norm, self.attn, self.mlp_norm, self.mlp = norm(c, c.d), Attention(c), norm(c, c.d), Mlp(c)

    def forward(self, x, rotation, cache, start):
        x = x + self.attn(self.attn_norm(x), rotation, cache, start)
        return x + self.mlp(self.mlp_norm(x))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed = nn.Embedding(c.vocab, c.d)
        self.positions = nn.Embedding(c.length, c.d) if c.gpt2 else None
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm, self.head = norm(c, c.d), nn.Linear(c.d, c.vocab, bias=False)
        if c.tied:
            self.head.weight = self.embed.weight
        for p in self.parameters():
            if p.ndim > 1:
                nn.init.normal_(p, std=0.02)
        frequency = 10000.0 ** (-torch.arange(0, c.width, 2).float() / c.width)
        angle = torch.outer(torch.arange(c.length).float(), frequency)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def hidden(self, ids, caches=None, start=0):
        end = start + ids.shape[1]
        x, rotation = self.embed(ids), (self.cos[start:end], self.sin[start:end])
        if self.positions is not None:
            x, rotation = x + self.positions(torch.arange(start, end)), None
        for i, block in enumerate(self.blocks):
            x = block(x, rotation, caches and caches[i], start)
        return self.norm(x)

    def forward(self, ids, targets):
        """The mean cross-entropy."""
        return F.cross_entropy(self.head(self.hidden(ids)).flatten(0, 1).float(), targets.flatten())

    def last_logits(self, ids, caches, start):
        return self.head(self.hidden(ids, caches, start)[:, -1])

    def caches(self, batch, length, dtype):
        shape = (batch, self.c.kv_heads, length, self.c.width)
        return [(torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)) for _ in self.blocks]
