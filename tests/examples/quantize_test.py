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


# The K formats: of normally distributed weights in rows of whole blocks.
K_FORMATS = {"q2_k": 0.30, "q3_k": 0.17, "q4_k": 0.08, "q5_k": 0.04, "q6_k": 0.02}


def write_wide_model(folder):
    """A folder of a Llama with rows of 256 and 512 normally distributed weights; the tensors."""
    d, ffn, vocab, layers = 256, 512, 64, 2
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": vocab, "hidden_size": d, "num_hidden_layers": layers,
              "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "intermediate_size": ffn, "max_position_embeddings": 64,
              "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False}
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"model.embed_tokens.weight": [vocab, d], "model.norm.weight": [d], "lm_head.weight": [vocab, d]}
    for i in range(layers):
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in {
            "input_layernorm": [d], "post_attention_layernorm": [d], "self_attn.q_proj": [d, d], "self_attn.k_proj": [d // 2, d],
            "self_attn.v_proj": [d // 2, d], "self_attn.o_proj": [d, d], "mlp.gate_proj": [ffn, d], "mlp.up_proj": [ffn, d],
            "mlp.down_proj": [d, ffn]}.items()}
    random = np.random.default_rng(1)
    tensors = {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    header, at = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(v.tobytes() for v in tensors.values()))
    return tensors


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
    for part in (str(folder), "'<s>' takes the white space beside it", "hint: --no-tokenizer"):
        assert part in refused.stderr, refused.stderr


def check_sentencepiece(quantize, source, temporary):
    """A folder whose only tokenizer is a tokenizer.model."""
    folder, out = Path(temporary) / "spm", str(Path(temporary) / "spm.gguf")
    shutil.copytree(source, folder)
    shutil.copy(Path(__file__).parents[1] / "fuzz" / "corpus" / "sentencepiece" / "good_unknown", folder / "tokenizer.model")
    subprocess.run([quantize, folder, out], check=True, capture_output=True)
    fields = gguf.GGUFReader(out).fields
    assert fields["tokenizer.ggml.model"].contents() == "llama"
    assert fields["tokenizer.ggml.tokens"].contents()[:7] == ["<unk>", "<s>", "</s>", "\u2581", "a", "b", "ab"]
    assert fields["tokenizer.ggml.token_type"].contents()[:7] == [2, 3, 3, 1, 1, 1, 1]
    space, a, b, both = fields["tokenizer.ggml.scores"].contents()[3:7]
    assert both > b > a > space
    assert fields["tokenizer.ggml.add_bos_token"].contents() is True


def main():
    quantize, goldens = sys.argv[1], Path(sys.argv[2])
    folder = goldens / "hf" / "llama_bf16"
    source = tensors_of(folder / "model.safetensors")
    with tempfile.TemporaryDirectory() as temporary:
        out = str(Path(temporary) / "m.gguf")
        for name, limit in FORMATS.items():
            check_format(quantize, folder, source, name, limit, out)
        check_conversation(quantize, folder, temporary)
        check_sentencepiece(quantize, folder, temporary)
        wide = Path(temporary) / "wide"
        wide.mkdir()
        source = write_wide_model(wide)
        for name, limit in K_FORMATS.items():
            check_format(quantize, wide, source, name, limit, out)
    print("gguf reads what quantize writes")


if __name__ == "__main__":
    main()
