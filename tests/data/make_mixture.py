"""Writes goldens/mixture.safetensors: feed-forward layers of published mixtures of experts, by transformers 5. Experts are
computed in float64, routers' scores in float32, as the models ask.

python make_mixture.py     (torch 2.15, transformers 5.24, safetensors)

Case names are those of model types. Tensors of a case: x, y, dy, router [, bias, shared_gate], gate, up, down [experts, ...],
[shared.gate, shared.up, shared.down], and the gradients dx, drouter, dgate, dup, ddown of sum(y * dy).
"""
import pathlib

import torch
from safetensors.torch import save_file
from transformers import DeepseekV3Config, MixtralConfig, OlmoeConfig, Qwen2MoeConfig, Qwen3MoeConfig
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
from transformers.models.olmoe.modeling_olmoe import OlmoeSparseMoeBlock
from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeSparseMoeBlock
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

D, F, E = 8, 6, 8
common = dict(hidden_size=D, hidden_act="silu")
layers = {
    "mixtral": MixtralSparseMoeBlock(MixtralConfig(intermediate_size=F, num_local_experts=E, num_experts_per_tok=2, **common)),
    "qwen3_moe": Qwen3MoeSparseMoeBlock(
        Qwen3MoeConfig(moe_intermediate_size=F, num_experts=E, num_experts_per_tok=3, norm_topk_prob=True, **common)),
    "olmoe": OlmoeSparseMoeBlock(
        OlmoeConfig(intermediate_size=F, num_experts=E, num_experts_per_tok=3, norm_topk_prob=False, **common)),
    "qwen2_moe": Qwen2MoeSparseMoeBlock(
        Qwen2MoeConfig(moe_intermediate_size=F, shared_expert_intermediate_size=10, num_experts=E, num_experts_per_tok=2,
                       norm_topk_prob=False, **common)),
    "deepseek_v3": DeepseekV3MoE(
        DeepseekV3Config(moe_intermediate_size=F, n_routed_experts=E, n_shared_experts=2, num_experts_per_tok=3, n_group=4,
                         topk_group=2, norm_topk_prob=True, routed_scaling_factor=2.5, **common)),
}
torch.manual_seed(7)
out = {}
for name, layer in layers.items():
    layer = layer.double().eval()
    with torch.no_grad():
        for p in list(layer.parameters()) + list(layer.buffers()):
            p.copy_(torch.randn(p.shape) * 0.5)
    x = torch.randn(2, 6, D, dtype=torch.float64, requires_grad=True)
    dy = torch.randn(2, 6, D, dtype=torch.float64)
    y = layer(x)
    (y * dy).sum().backward()
    gate_up, down = layer.experts.gate_up_proj, layer.experts.down_proj
    case = {"x": x, "y": y, "dy": dy, "dx": x.grad, "router": layer.gate.weight, "drouter": layer.gate.weight.grad,
            "gate": gate_up[:, :F], "up": gate_up[:, F:], "down": down,
            "dgate": gate_up.grad[:, :F], "dup": gate_up.grad[:, F:], "ddown": down.grad}
    if name == "deepseek_v3":
        case["bias"] = layer.gate.e_score_correction_bias
    shared = getattr(layer, "shared_experts", getattr(layer, "shared_expert", None))
    if shared is not None:
        for part in ("gate", "up", "down"):
            case["shared." + part] = getattr(shared, part + "_proj").weight
            case["dshared." + part] = getattr(shared, part + "_proj").weight.grad
    if name == "qwen2_moe":
        case["shared_gate"] = layer.shared_expert_gate.weight
        case["dshared_gate"] = layer.shared_expert_gate.weight.grad
    for key, value in case.items():
        out[f"{name}.{key}"] = value.detach().float().contiguous()
save_file(out, pathlib.Path(__file__).parent / "goldens" / "mixture.safetensors")
