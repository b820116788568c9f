#!/usr/bin/env python3
"""A model given as one file, .safetensors or llama2.c's .bin, finds its tokenizer, or the program says what is missing.

Usage: model_paths_test.py CHAT PERPLEXITY TOKENIZE QUANTIZE GOLDENS, of which the first two are compiled for the config of tiny.gguf.
"""
import array
import json
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

CHAT, PERPLEXITY, TOKENIZE, QUANTIZE, GOLDENS = sys.argv[1:6]
D, FFN, LAYERS, HEADS, KV, VOCAB, CONTEXT, HEAD = 32, 256, 2, 4, 2, 500, 64, 8
# The tensors of a layer in the order of llama2.c's files.
LAYER = [("input_layernorm", [D]), ("self_attn.q_proj", [D, D]), ("self_attn.k_proj", [KV * HEAD, D]), ("self_attn.v_proj", [KV * HEAD, D]),
         ("self_attn.o_proj", [D, D]), ("post_attention_layernorm", [D]), ("mlp.gate_proj", [FFN, D]), ("mlp.down_proj", [D, FFN]),
         ("mlp.up_proj", [FFN, D])]


def run(*command, text=None):
    done = subprocess.run([str(word) for word in command], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def good(*command, text=None):
    status, out, errors = run(*command, text=text)
    assert status == 0, (command, errors)
    return out


def refused(*command):
    status, _, errors = run(*command)
    assert status == 1, (command, status, errors)
    return errors


def random_values(shape):
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    return array.array("f", (random.gauss(0, 0.05) + (len(shape) == 1) for _ in range(count)))


def model():
    """Tensors by their Hugging Face names, in the order of llama2.c's files."""
    tensors = {"model.embed_tokens.weight": [VOCAB, D]}
    for name, shape in LAYER:
        for layer in range(LAYERS):
            tensors[f"model.layers.{layer}.{name}.weight"] = shape
    tensors |= {"model.norm.weight": [D], "lm_head.weight": [VOCAB, D]}
    return {name: (shape, random_values(shape)) for name, shape in tensors.items()}


def write_bin(path, tensors):
    parts = [struct.pack("<7i", D, FFN, LAYERS, HEADS, KV, -VOCAB, CONTEXT)]
    for name, (_, values) in tensors.items():
        if name == "lm_head.weight":
            parts.append(bytes(4 * CONTEXT * HEAD))  # rotations, which nobody reads
        parts.append(values.tobytes())
    path.write_bytes(b"".join(parts))


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * len(values)]}
        at += 4 * len(values)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for _, values in tensors.values()))
    config = {"model_type": "llama", "vocab_size": VOCAB, "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
              "num_key_value_heads": KV, "intermediate_size": FFN, "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "hidden_act": "silu", "tie_word_embeddings": False}
    (path.parent / "config.json").write_text(json.dumps(config))


def write_tokenizer_bin(path):
    """llama2.c's kind of file: what is unknown, the ends, the bytes, and letters that merge."""
    pieces = [("<unk>", 0), ("\n<s>\n", 0), ("\n</s>\n", 0)] + [(f"<0x{byte:02X}>", 0) for byte in range(256)]
    pieces += [(letter, -100 - i) for i, letter in enumerate(" abcdefghijklmnopqrstuvwxyz.")] + [("he", -1), (" t", -2), (" the", -3)]
    encoded = [(text.encode(), score) for text, score in pieces]
    path.write_bytes(struct.pack("<I", max(len(text) for text, _ in encoded)) +
                     b"".join(struct.pack("<fI", score, len(text)) + text for text, score in encoded))


def check_bin(folder, tensors, text):
    path = folder / "stories.bin"
    write_bin(path, tensors)
    errors = refused(PERPLEXITY, path, text)
    for part in (f"{path}: has no tokenizer", "tokenizer.json, tokenizer.model, tok500.bin, tok500.model, tokenizer.bin", "hint: --tokenizer"):
        assert part in errors, errors
    assert "has no tokenizer" in refused(TOKENIZE, path, "x")
    assert "hint: --tokenizer" in refused(CHAT, path, "--template", "chatml")

    away = folder / "elsewhere.bin"
    write_tokenizer_bin(away)
    spelled = good(TOKENIZE, away, "the tea")
    assert "'<s>'  special" in spelled and "' the'" in spelled and "' t'" in spelled, spelled
    assert "the vocabulary has 290" in spelled, spelled
    measured = good(PERPLEXITY, path, text, "--tokenizer", away, "--context", "32")
    shutil.move(away, folder / "tokenizer.bin")
    assert good(PERPLEXITY, path, text, "--context", "32") == measured
    assert good(TOKENIZE, path, "the tea") == spelled
    good(QUANTIZE, path, folder / "stories.gguf", "--format", "f32", "--overwrite")
    assert good(TOKENIZE, folder / "stories.gguf", "the tea").splitlines()[:-1] == spelled.splitlines()[:-1]
    assert good(PERPLEXITY, folder / "stories.gguf", text, "--context", "32") == measured

    shutil.copy(Path(GOLDENS) / "tok_gpt2" / "tokenizer.json", folder)
    assert good(TOKENIZE, path, "the tea") == spelled  # llama2.c's own goes first
    shutil.move(folder / "tokenizer.bin", folder / "tok500.bin")
    assert good(TOKENIZE, path, "the tea") == spelled
    (folder / "tok500.bin").write_bytes(b"\x01\x00\x00\x00abc")
    assert "tok500.bin: no tokenizer of llama2.c: piece 0 is cut short" in refused(TOKENIZE, path, "x")


def check_safetensors(folder, tensors, text):
    path = folder / "model.safetensors"
    write_safetensors(path, tensors)
    assert "there is none of tokenizer.json, tokenizer.model in " in refused(PERPLEXITY, path, text)
    tokenizer = Path(GOLDENS) / "tok_gpt2" / "tokenizer.json"
    measured = good(PERPLEXITY, path, text, "--tokenizer", tokenizer, "--context", "32")
    shutil.copy(tokenizer, folder)
    for model_path in (path, folder):
        assert good(PERPLEXITY, model_path, text, "--context", "32") == measured
    assert good(TOKENIZE, path, "the tea") == good(TOKENIZE, folder, "the tea") == good(TOKENIZE, folder / "config.json", "the tea")
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<|endoftext|>", "add_bos_token": True}))
    assert "'<|endoftext|>'  special" in good(TOKENIZE, path, "the tea")
    words = ("--temperature", "0", "--max-new-tokens", "4", "--template", "chatml")
    assert good(CHAT, path, *words, text="hi\n") == good(CHAT, folder, *words, text="hi\n")


def main():
    random.seed(1)
    tensors = model()
    with tempfile.TemporaryDirectory() as temporary:
        text = Path(temporary) / "text.txt"
        text.write_text("the tea and the sea. " * 20)
        for check in (check_bin, check_safetensors):
            folder = Path(temporary) / check.__name__
            folder.mkdir()
            check(folder, tensors, text)


if __name__ == "__main__":
    main()
