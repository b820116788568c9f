"""Writes goldens/hf/<name>: small random models of families as transformers 5 saves them, with what they compute in float32.

python make_families.py     (torch 2.15, transformers 5.24, safetensors)

expected.safetensors: input_ids [2, 12], logits, hidden.0 (embeddings), layer.<i> (what each layer gives), hidden.<L> (after the final norm),
greedy [1, 13] (the first 5 of input_ids and 8 greedy tokens). Tolerance 1e-4.
"""
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import save_file

OUT = pathlib.Path(__file__).parent / "goldens" / "hf"
common = dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32, bos_token_id=1,
              eos_token_id=2, pad_token_id=None)
gqa = dict(common, num_key_value_heads=2)
configs = {
    "mixtral": transformers.MixtralConfig(intermediate_size=24, num_local_experts=4, num_experts_per_tok=2, **gqa),
    "qwen2_moe": transformers.Qwen2MoeConfig(
        intermediate_size=20, moe_intermediate_size=12, shared_expert_intermediate_size=28, num_experts=5, num_experts_per_tok=2,
        norm_topk_prob=False, **{**gqa, "num_hidden_layers": 3}),
    "olmoe": transformers.OlmoeConfig(intermediate_size=12, num_experts=6, num_experts_per_tok=3, norm_topk_prob=False, **gqa),
    "olmo2": transformers.Olmo2Config(intermediate_size=24, **gqa),
    "gpt_neox": transformers.GPTNeoXConfig(intermediate_size=40, rotary_pct=0.5, **common),
    "gemma": transformers.GemmaConfig(intermediate_size=24, head_dim=8, **gqa),
    "gemma3": transformers.Gemma3TextConfig(intermediate_size=24, head_dim=8, sliding_window=4, query_pre_attn_scalar=6,
                                            layer_types=["sliding_attention", "sliding_attention", "full_attention"] * 2,
                                            **{**gqa, "num_hidden_layers": 6}),
}
for name, config in configs.items():
    torch.manual_seed(11)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            around = 1.0 if p.ndim == 1 and "norm" in key and "bias" not in key and not name.startswith("gemma") else 0.0
            p.copy_(around + torch.randn(p.shape) * (0.2 if p.ndim == 1 else 0.3))
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    for extra in folder.glob("generation_config.json"):
        extra.unlink()
    layers = []
    for layer in model.base_model.layers:
        layer.register_forward_hook(lambda _m, _i, o: layers.append(o[0] if isinstance(o, tuple) else o))
    ids = torch.randint(0, 64, (2, 12))
    with torch.no_grad():
        result = model(ids, output_hidden_states=True)
        plain = ids[:1, :5]
        for _ in range(8):
            plain = torch.cat([plain, model(plain).logits[:, -1:].argmax(-1)], 1)
    expected = {"input_ids": ids, "logits": result.logits, "greedy": plain,
                "hidden.0": result.hidden_states[0], f"hidden.{config.num_hidden_layers}": result.hidden_states[-1]}
    expected |= {f"layer.{i}": layers[i] for i in range(config.num_hidden_layers)}
    save_file({k: v.contiguous() for k, v in expected.items()}, folder / "expected.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
    print(name, sum(f.stat().st_size for f in folder.iterdir()))
