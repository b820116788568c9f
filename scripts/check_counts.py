#!/usr/bin/env python3
"""Counts the parameters of the published models by transformers, on the meta device, and compares with the library's counts.

Optional: needs `pip install transformers torch`; no weights are loaded and nothing is downloaded. Each model is described here by the
values of its published config.json, apart from the library's own configs. A tied matrix counts once. DeepSeek-V3's router bias, which
transformers keeps as a buffer, counts as a parameter, as it does in the published files.

Usage: check_counts.py build/bin/count_params [name ...]. Exit status 1 when a count differs or a published model of the library is missing
here, 77 when transformers is missing.
"""
import re
import subprocess
import sys

SMALL = {"modern_small", "llama_small", "gpt2_small"}  # the library's own, for training on a text


def gpt2(d_model, layers, heads):
    return "gpt2", {"vocab_size": 50257, "n_embd": d_model, "n_layer": layers, "n_head": heads, "n_positions": 1024}


def decoder(kind, vocab, d_model, layers, heads, kv_heads, ffn, tied=False, **others):
    """The fields that nearly all families share."""
    return kind, {"vocab_size": vocab, "hidden_size": d_model, "num_hidden_layers": layers, "num_attention_heads": heads,
                  "num_key_value_heads": kv_heads, "intermediate_size": ffn, "tie_word_embeddings": tied, **others}


def llama(*sizes, **others):
    return decoder("llama", *sizes, **others)


def qwen2(*sizes, **others):
    return decoder("qwen2", *sizes, **others)


def qwen3(*sizes, **others):
    return decoder("qwen3", 151936, *sizes, head_dim=128, **others)


def qwen3_moe(*sizes, expert_ffn):
    return decoder("qwen3_moe", 151936, *sizes, head_dim=128, num_experts=128, num_experts_per_tok=8, moe_intermediate_size=expert_ffn)


def mixtral(*sizes):
    return decoder("mixtral", 32000, *sizes, num_local_experts=8, num_experts_per_tok=2)


def gemma(kind, *sizes, head_dim=256):
    return decoder(kind, *sizes, head_dim=head_dim, tied=True)


def pythia(vocab, d_model, layers, heads):
    return "gpt_neox", {"vocab_size": vocab, "hidden_size": d_model, "num_hidden_layers": layers, "num_attention_heads": heads,
                        "intermediate_size": 4 * d_model, "tie_word_embeddings": False}


def deepseek(kind, vocab, d_model, layers, heads, ffn, q_rank, experts, active, expert_ffn, shared, first_dense, groups, active_groups):
    fields = {"vocab_size": vocab, "hidden_size": d_model, "num_hidden_layers": layers, "num_attention_heads": heads,
              "num_key_value_heads": heads, "intermediate_size": ffn, "q_lora_rank": q_rank, "kv_lora_rank": 512,
              "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": experts,
              "num_experts_per_tok": active, "moe_intermediate_size": expert_ffn, "n_shared_experts": shared,
              "first_k_dense_replace": first_dense, "n_group": groups, "topk_group": active_groups, "tie_word_embeddings": False}
    if kind == "deepseek_v3":
        fields["num_nextn_predict_layers"] = 0
    return kind, fields


MODELS = {
    "seed_502m": llama(32000, 1536, 18, 12, 4, 4096, True, head_dim=128),
    "gpt2_124m": gpt2(768, 12, 12),
    "gpt2_medium": gpt2(1024, 24, 16),
    "gpt2_large": gpt2(1280, 36, 20),
    "gpt2_xl": gpt2(1600, 48, 25),
    "llama2_7b": llama(32000, 4096, 32, 32, 32, 11008),
    "llama2_13b": llama(32000, 5120, 40, 40, 40, 13824),
    "llama2_70b": llama(32000, 8192, 80, 64, 8, 28672),
    "llama3_8b": llama(128256, 4096, 32, 32, 8, 14336),
    "llama3_70b": llama(128256, 8192, 80, 64, 8, 28672),
    "llama3_1_8b": llama(128256, 4096, 32, 32, 8, 14336),
    "llama3_1_70b": llama(128256, 8192, 80, 64, 8, 28672),
    "llama3_1_405b": llama(128256, 16384, 126, 128, 8, 53248),
    "llama3_2_1b": llama(128256, 2048, 16, 32, 8, 8192, True, head_dim=64),
    "llama3_2_3b": llama(128256, 3072, 28, 24, 8, 8192, True, head_dim=128),
    "tinyllama_1_1b": llama(32000, 2048, 22, 32, 4, 5632),
    "mistral_7b": decoder("mistral", 32000, 4096, 32, 32, 8, 14336),
    "mistral_7b_v0_3": decoder("mistral", 32768, 4096, 32, 32, 8, 14336),
    "mixtral_8x7b": mixtral(4096, 32, 32, 8, 14336),
    "mixtral_8x22b": mixtral(6144, 56, 48, 8, 16384),
    "smollm2_135m": llama(49152, 576, 30, 9, 3, 1536, True),
    "smollm2_360m": llama(49152, 960, 32, 15, 5, 2560, True),
    "smollm2_1_7b": llama(49152, 2048, 24, 32, 32, 8192, True),
    "qwen1_5_moe_a2_7b": decoder("qwen2_moe", 151936, 2048, 24, 16, 16, 5632, num_experts=60, num_experts_per_tok=4,
                                 moe_intermediate_size=1408, shared_expert_intermediate_size=5632),
    "qwen2_5_0_5b": qwen2(151936, 896, 24, 14, 2, 4864, True),
    "qwen2_5_1_5b": qwen2(151936, 1536, 28, 12, 2, 8960, True),
    "qwen2_5_3b": qwen2(151936, 2048, 36, 16, 2, 11008, True),
    "qwen2_5_7b": qwen2(152064, 3584, 28, 28, 4, 18944),
    "qwen2_5_14b": qwen2(152064, 5120, 48, 40, 8, 13824),
    "qwen2_5_32b": qwen2(152064, 5120, 64, 40, 8, 27648),
    "qwen2_5_72b": qwen2(152064, 8192, 80, 64, 8, 29568),
    "qwen3_0_6b": qwen3(1024, 28, 16, 8, 3072, True),
    "qwen3_1_7b": qwen3(2048, 28, 16, 8, 6144, True),
    "qwen3_4b": qwen3(2560, 36, 32, 8, 9728, True),
    "qwen3_8b": qwen3(4096, 36, 32, 8, 12288),
    "qwen3_14b": qwen3(5120, 40, 40, 8, 17408),
    "qwen3_32b": qwen3(5120, 64, 64, 8, 25600),
    "qwen3_30b_a3b": qwen3_moe(2048, 48, 32, 4, 6144, expert_ffn=768),
    "qwen3_235b_a22b": qwen3_moe(4096, 94, 64, 4, 12288, expert_ffn=1536),
    "gemma_2b": gemma("gemma", 256000, 2048, 18, 8, 1, 16384),
    "gemma_7b": gemma("gemma", 256000, 3072, 28, 16, 16, 24576),
    "gemma2_2b": gemma("gemma2", 256000, 2304, 26, 8, 4, 9216),
    "gemma2_9b": gemma("gemma2", 256000, 3584, 42, 16, 8, 14336),
    "gemma2_27b": gemma("gemma2", 256000, 4608, 46, 32, 16, 36864, head_dim=128),
    "gemma3_1b": gemma("gemma3_text", 262144, 1152, 26, 4, 1, 6912),
    "phi3_mini_4k": decoder("phi3", 32064, 3072, 32, 32, 32, 8192),
    "phi3_medium_4k": decoder("phi3", 32064, 5120, 40, 40, 10, 17920),
    "phi4": decoder("phi3", 100352, 5120, 40, 40, 10, 17920, pad_token_id=None),
    "olmo2_7b": decoder("olmo2", 100352, 4096, 32, 32, 32, 11008),
    "olmo2_13b": decoder("olmo2", 100352, 5120, 40, 40, 40, 13824),
    "olmoe_1b_7b": decoder("olmoe", 50304, 2048, 16, 16, 16, 1024, num_experts=64, num_experts_per_tok=8),
    "deepseek_llm_7b": llama(102400, 4096, 30, 32, 32, 11008),
    "deepseek_v2_lite": deepseek("deepseek_v2", 102400, 2048, 27, 16, 10944, None, 64, 6, 1408, 2, 1, 1, 1),
    "deepseek_v2": deepseek("deepseek_v2", 102400, 5120, 60, 128, 12288, 1536, 160, 6, 1536, 2, 1, 8, 3),
    "deepseek_v3": deepseek("deepseek_v3", 129280, 7168, 61, 128, 18432, 1536, 256, 8, 2048, 1, 3, 8, 4),
    "pythia_70m": pythia(50304, 512, 6, 8),
    "pythia_160m": pythia(50304, 768, 12, 12),
    "pythia_410m": pythia(50304, 1024, 24, 16),
    "pythia_1b": pythia(50304, 2048, 16, 8),
    "pythia_1_4b": pythia(50304, 2048, 24, 16),
    "pythia_2_8b": pythia(50304, 2560, 32, 32),
    "pythia_6_9b": pythia(50432, 4096, 32, 32),
    "pythia_12b": pythia(50688, 5120, 36, 40),
    "starcoder2_3b": decoder("starcoder2", 49152, 3072, 30, 24, 2, 12288, True),
    "starcoder2_7b": decoder("starcoder2", 49152, 4608, 32, 36, 4, 18432, True),
    "yi1_5_6b": llama(64000, 4096, 32, 32, 4, 11008),
    "yi1_5_9b": llama(64000, 4096, 48, 32, 4, 11008),
    "yi1_5_34b": llama(64000, 7168, 60, 56, 8, 20480),
}


def count(kind, fields):
    """All parameters, and those that one token passes."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **fields))
    tensors = dict(model.named_parameters())  # a shared one once
    tensors.update((name, buffer) for name, buffer in model.named_buffers() if name.endswith("e_score_correction_bias"))
    total = sum(tensor.numel() for tensor in tensors.values())
    routed = sum(tensor.numel() for name, tensor in tensors.items() if ".experts." in name)
    experts = next((fields[key] for key in ("num_local_experts", "num_experts", "n_routed_experts") if key in fields), 1)
    return total, total - routed + routed // experts * fields.get("num_experts_per_tok", 1)


def library_counts(program):
    """{name: (all parameters, active ones)} as count_params --all prints them."""
    text = subprocess.run([program, "--all"], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    rows = re.findall(r"^(\w+) +([\d,]+) +([\d,]+) active", text, re.MULTILINE)
    return {name: tuple(int(number.replace(",", "")) for number in numbers) for name, *numbers in rows}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        import transformers
        import torch
    except ImportError:
        print("skipped: pip install transformers torch")
        return 77
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    library = library_counts(sys.argv[1])
    names = sys.argv[2:] or list(library)
    bad = 0
    print(f"{'model':20} {'transformers':>18} {'library':>18} {'active, both':>18}")
    for name in names:
        if name in SMALL:
            continue
        if name not in MODELS:
            print(f"{name:20} is not described in this script")
            bad += 1
            continue
        mine = count(*MODELS[name])
        equal = mine == library.get(name)
        bad += not equal
        total, active = library.get(name, (0, 0))
        print(f"{name:20} {mine[0]:18,} {total:18,} {active:18,}" + ("" if equal else f" DIFFERENT ({mine[1]:,} active)"), flush=True)
    print(f"{bad} models differ" if bad else "All counts agree.")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
