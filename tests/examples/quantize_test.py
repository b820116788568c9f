#!/usr/bin/env python3
"""Reads what `quantize` writes with the Python package gguf: quantize_test.py QUANTIZE GOLDENS. Status 77 where the package is missing."""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import gguf
    import numpy as np
except ImportError:
    print("skipped: the Python package gguf is not installed")
    sys.exit(77)

# The largest relative error of a format; none: the bytes are those that gguf itself encodes.
FORMATS = {"f32": 0, "bf16": None, "f16": None, "q8_0": None, "q5_1": None, "q5_0": None, "q4_1": None, "q4_0": None}


def tensors_of(path):
    """The tensors of a safetensors file of BF16 as f32."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            bits = np.frombuffer(content[begin:end], np.uint16).astype(np.uint32) << 16
            out[name] = bits.view(np.float32).reshape(entry["shape"])
    return out


def interleaved(rows, heads):
    """Rows of q or k as GGUF's architecture llama has them."""
    return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def check_format(quantize, folder, source, name, limit, out):
    subprocess.run([quantize, folder, out, "--format", name, "--pure", "--overwrite"], check=True, capture_output=True)
    reader = gguf.GGUFReader(out)
    assert reader.fields["general.architecture"].contents() == "llama"
    assert reader.fields["llama.block_count"].contents() == 2
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    pairs = {"token_embd.weight": source["model.embed_tokens.weight"], "output.weight": source["lm_head.weight"],
             "blk.1.ffn_down.weight": source["model.layers.1.mlp.down_proj.weight"],
             "blk.0.attn_q.weight": interleaved(source["model.layers.0.self_attn.q_proj.weight"], 4),
             "blk.1.attn_k.weight": interleaved(source["model.layers.1.self_attn.k_proj.weight"], 2)}
    for tensor_name, values in pairs.items():
        tensor = tensors[tensor_name]
        assert tensor.tensor_type.name.lower() == name, (tensor_name, tensor.tensor_type)
        decoded = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(values.shape)
        if limit is None:
            expected = gguf.quants.quantize(np.ascontiguousarray(values), tensor.tensor_type)
            assert np.array_equal(expected.view(np.uint8).ravel(), tensor.data.view(np.uint8).ravel()), (name, tensor_name)
        else:
            error = np.sqrt(np.mean((decoded - values) ** 2) / np.mean(values ** 2))
            assert error <= limit, (name, tensor_name, error)
    norm = tensors["blk.1.ffn_norm.weight"]
    assert norm.tensor_type.name == "F32" and np.array_equal(norm.data, source["model.layers.1.post_attention_layernorm.weight"])


def check_conversation(quantize, source, temporary):
    """A folder's tokenizer and chat template are in the file; a tokenizer that GGUF cannot say is refused with a hint."""
    folder, out = Path(temporary) / "model", str(Path(temporary) / "chat.gguf")
    shutil.copytree(source, folder)
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
    tokenizer = {"added_tokens": [{"id": 3, "content": "<s>", "special": True}], "normalizer": None, "post_processor": None,
                 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "decoder": {"type": "ByteLevel"},
                 "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "chat_template": template}))
    subprocess.run([quantize, folder, out], check=True, capture_output=True)
    fields = gguf.GGUFReader(out).fields
    assert fields["tokenizer.chat_template"].contents() == template
    assert fields["tokenizer.ggml.tokens"].contents()[:4] == ["a", "b", "ab", "<s>"]
    assert fields["tokenizer.ggml.bos_token_id"].contents() == 3
    tokenizer["added_tokens"][0]["rstrip"] = True
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    refused = subprocess.run([quantize, folder, out, "--overwrite"], capture_output=True, text=True)
    assert refused.returncode == 1
    for part in (str(folder / "tokenizer.json"), "'<s>' takes the white space beside it", "hint: --no-tokenizer"):
        assert part in refused.stderr, refused.stderr


def main():
    quantize, goldens = sys.argv[1], Path(sys.argv[2])
    folder = goldens / "hf" / "llama_bf16"
    source = tensors_of(folder / "model.safetensors")
    with tempfile.TemporaryDirectory() as temporary:
        out = str(Path(temporary) / "m.gguf")
        for name, limit in FORMATS.items():
            check_format(quantize, folder, source, name, limit, out)
        check_conversation(quantize, folder, temporary)
    print("gguf reads what quantize writes")


if __name__ == "__main__":
    main()
