"""Writes goldens/router_losses.safetensors: what routers add to the loss of the small models in goldens/hf, by transformers 5 with
output_router_logits, in float64 (routers and their losses partly in float32, as the models ask).

python make_router_losses.py     (torch 2.15, transformers 5.24, safetensors; after make_families.py)

Tensors as <model type>.<tensor>: input_ids and labels [2, 12] (aligned; some are -100), loss (with AUX times aux_loss), aux_loss,
z_loss (of all routers, by the function of Switch Transformers), and grad.<parameter> of loss + Z * z_loss.
"""
import pathlib

import torch
import transformers
from safetensors.torch import save_file
from transformers.models.switch_transformers.modeling_switch_transformers import router_z_loss_func

AUX, Z = 0.5, 0.125
GOLDENS = pathlib.Path(__file__).parent / "goldens"
KEPT = ("mlp.gate.weight", "embed_tokens.weight", "layers.0.self_attn.q_proj.weight", "layers.0.input_layernorm.weight")
out = {}
for name in ("mixtral", "qwen2_moe", "olmoe"):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        GOLDENS / "hf" / name, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager",
        output_router_logits=True, router_aux_loss_coef=AUX)
    torch.manual_seed(3)
    ids = torch.randint(0, model.config.vocab_size, (2, 12))
    labels = torch.randint(0, model.config.vocab_size, (2, 12))
    labels[0, 4:7] = -100
    result = model(ids, labels=labels, shift_labels=labels)
    z = sum(router_z_loss_func(logits[None]) for logits in result.router_logits) / len(result.router_logits)
    (result.loss + Z * z).backward()
    case = {"input_ids": ids.int(), "labels": labels.int(), "loss": result.loss, "aux_loss": result.aux_loss, "z_loss": z}
    case |= {"grad." + key: p.grad for key, p in model.named_parameters() if key.endswith(KEPT)}
    print(name, float(result.loss), float(result.aux_loss), float(z), sorted(case))
    for key, value in case.items():
        value = value.detach()
        out[f"{name}.{key}"] = (value.float() if value.is_floating_point() else value).contiguous()
save_file(out, GOLDENS / "router_losses.safetensors", metadata={"aux": str(AUX), "z": str(Z)})
