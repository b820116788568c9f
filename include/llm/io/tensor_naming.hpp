// How the families of published checkpoints name a model's tensors, as one table of names by role.
// Source: the modules of Hugging Face transformers 4.57 and 5 (models/<family>/modeling_<family>.py); for GGUF the tensor names of
// docs/gguf.md and the Python package gguf.
#pragma once

#include <cstdint>
#include <string_view>

#include <llm/io/published_config.hpp>

namespace llm {

/// Whose names and shapes a file's tensors have.
enum class TensorNames : std::uint8_t {
  hugging_face,  // as the family's class in transformers saves them
  gguf,          // as llama.cpp's converters write them
  library        // as save_checkpoint writes them
};

namespace detail {

/// Names of tensors by their role. Within a layer a name stands without the layer's prefix, and without .weight or .bias where a tensor
/// of either may follow. Empty: the family has no such tensor.
struct TensorNaming {
  std::string_view prefix = "model.";  // of all but the head
  std::string_view embedding = "embed_tokens.weight";
  std::string_view positions = "";
  std::string_view layers = "layers.";
  std::string_view final_norm = "norm";
  std::string_view head = "lm_head.weight";

  std::string_view attention_norm = "input_layernorm";     // before the branch
  std::string_view mlp_norm = "post_attention_layernorm";  // before the branch
  std::string_view attention_post_norm = "";               // after the branch (OLMo 2, Gemma 2)
  std::string_view mlp_post_norm = "";                     // after the branch

  std::string_view qkv = "";  // one matrix of all three; empty: one each
  std::string_view q = "self_attn.q_proj", k = "self_attn.k_proj", v = "self_attn.v_proj", o = "self_attn.o_proj";
  std::string_view q_norm = "self_attn.q_norm", k_norm = "self_attn.k_norm";
  std::string_view q_a = "", q_a_norm = "", q_b = "", kv_a = "", kv_a_norm = "", kv_b = "";  // latent attention

  std::string_view gate_up = "";  // one matrix of both; empty: one each
  std::string_view gate = "mlp.gate_proj", up = "mlp.up_proj", down = "mlp.down_proj";

  std::string_view router = "", router_bias = "";
  std::string_view experts = "";  // before the number of an expert
  std::string_view expert_gate = "gate_proj", expert_up = "up_proj", expert_down = "down_proj";
  std::string_view stacked_gate_up = "";                                   // all experts in one tensor [count, 2 F, D]
  std::string_view stacked_gate = "", stacked_up = "", stacked_down = "";  // or in three
  std::string_view shared = "";                                            // before gate_proj and so on
  std::string_view shared_gate_proj = "gate_proj", shared_up_proj = "up_proj", shared_down_proj = "down_proj";
  std::string_view shared_router = "";
  bool in_out = false;  // matrices of layers are stored [in, out]
};

constexpr TensorNaming gpt2_naming() {
  TensorNaming n;
  n.prefix = "transformer.";
  n.embedding = "wte.weight", n.positions = "wpe.weight", n.layers = "h.", n.final_norm = "ln_f";
  n.attention_norm = "ln_1", n.mlp_norm = "ln_2";
  n.qkv = "attn.c_attn", n.o = "attn.c_proj", n.q_norm = n.k_norm = "";
  n.gate = "", n.up = "mlp.c_fc", n.down = "mlp.c_proj";
  n.in_out = true;
  return n;
}

constexpr TensorNaming gpt_neox_naming() {
  TensorNaming n;
  n.prefix = "gpt_neox.";
  n.embedding = "embed_in.weight", n.final_norm = "final_layer_norm", n.head = "embed_out.weight";
  n.qkv = "attention.query_key_value", n.o = "attention.dense", n.q_norm = n.k_norm = "";
  n.gate = "", n.up = "mlp.dense_h_to_4h", n.down = "mlp.dense_4h_to_h";
  return n;
}

constexpr TensorNaming deepseek_naming() {
  TensorNaming n;
  n.q_a = "self_attn.q_a_proj", n.q_a_norm = "self_attn.q_a_layernorm", n.q_b = "self_attn.q_b_proj";
  n.kv_a = "self_attn.kv_a_proj_with_mqa", n.kv_a_norm = "self_attn.kv_a_layernorm", n.kv_b = "self_attn.kv_b_proj";
  n.router = "mlp.gate", n.router_bias = "mlp.gate.e_score_correction_bias";
  n.experts = "mlp.experts.", n.shared = "mlp.shared_experts.";
  n.q_norm = n.k_norm = "";
  return n;
}

constexpr TensorNaming gguf_naming() {
  TensorNaming n;
  n.prefix = "", n.layers = "blk.";
  n.embedding = "token_embd.weight", n.positions = "position_embd.weight", n.final_norm = "output_norm", n.head = "output.weight";
  n.attention_norm = "attn_norm", n.mlp_norm = "ffn_norm";
  n.attention_post_norm = "post_attention_norm", n.mlp_post_norm = "post_ffw_norm";
  n.q = "attn_q", n.k = "attn_k", n.v = "attn_v", n.o = "attn_output", n.q_norm = "attn_q_norm", n.k_norm = "attn_k_norm";
  n.q_a = "attn_q_a", n.q_a_norm = "attn_q_a_norm", n.q_b = "attn_q_b";
  n.kv_a = "attn_kv_a_mqa", n.kv_a_norm = "attn_kv_a_norm", n.kv_b = "attn_kv_b";
  n.gate = "ffn_gate", n.up = "ffn_up", n.down = "ffn_down";
  n.router = "ffn_gate_inp", n.router_bias = "exp_probs_b.bias";
  n.stacked_gate = "ffn_gate_exps.weight", n.stacked_up = "ffn_up_exps.weight", n.stacked_down = "ffn_down_exps.weight";
  n.shared = "ffn_", n.shared_gate_proj = "gate_shexp", n.shared_up_proj = "up_shexp", n.shared_down_proj = "down_shexp";
  n.shared_router = "ffn_gate_inp_shexp";
  return n;
}

/// Names in GGUF files are of one table, but some families keep their joined matrices.
constexpr TensorNaming gguf_naming(Family family) {
  TensorNaming n = gguf_naming();
  if (family == Family::gpt2 || family == Family::gpt_neox || family == Family::phi3) n.qkv = "attn_qkv";
  if (family == Family::phi3) n.gate_up = "ffn_up";
  return n;
}

constexpr TensorNaming hugging_face_naming(Family family) {
  TensorNaming n;
  switch (family) {
    case Family::gpt2:
      return gpt2_naming();
    case Family::gpt_neox:
      return gpt_neox_naming();
    case Family::deepseek_v2:
    case Family::deepseek_v3:
      return deepseek_naming();
    case Family::mixtral:
      n.router = "block_sparse_moe.gate", n.experts = "block_sparse_moe.experts.";
      n.expert_gate = "w1", n.expert_up = "w3", n.expert_down = "w2";
      break;
    case Family::qwen3_moe:
    case Family::qwen2_moe:
    case Family::olmoe:
      n.router = "mlp.gate", n.experts = "mlp.experts.";
      n.shared = "mlp.shared_expert.", n.shared_router = "mlp.shared_expert_gate";
      break;
    case Family::gemma2:
    case Family::gemma3:
      n.attention_post_norm = "post_attention_layernorm";
      n.mlp_norm = "pre_feedforward_layernorm", n.mlp_post_norm = "post_feedforward_layernorm";
      break;
    case Family::olmo2:
      n.attention_norm = n.mlp_norm = "";
      n.attention_post_norm = "post_attention_layernorm", n.mlp_post_norm = "post_feedforward_layernorm";
      break;
    case Family::phi3:
      n.qkv = "self_attn.qkv_proj", n.gate_up = "mlp.gate_up_proj";
      break;
    case Family::starcoder2:
      n.gate = "", n.up = "mlp.c_fc", n.down = "mlp.c_proj";
      break;
    case Family::llama:
    case Family::mistral:
    case Family::qwen2:
    case Family::qwen3:
    case Family::gemma:
      break;
  }
  return n;
}

constexpr TensorNaming naming_of(Family family, TensorNames names) {
  if (names == TensorNames::gguf) return gguf_naming(family);
  if (names == TensorNames::hugging_face) return hugging_face_naming(family);
  TensorNaming n;
  n.positions = "embed_positions.weight";
  n.attention_post_norm = "attention_result_norm", n.mlp_post_norm = "mlp_result_norm";
  n.router = "mlp.gate", n.router_bias = "mlp.gate.e_score_correction_bias", n.experts = "mlp.experts.";
  n.shared = "mlp.shared_expert.", n.shared_router = "mlp.shared_expert_gate";
  return n;
}

}  // namespace detail
}  // namespace llm
