// Small models of the families that differ from Llama in structure, as transformers saves them: every layer, the logits and the greedy
// tokens.
#include <llm/io/load.hpp>

#include <support/golden_directory.hpp>

using namespace llm_test;
using llm::Config;

namespace {

constexpr Config base = hf_family;
constexpr Config mixtral = hf_mixtral, qwen2_moe = hf_qwen2_moe, olmoe = hf_olmoe;

constexpr Config changed(void (*change)(Config&)) {
  Config c = base;
  change(c);
  return c;
}

constexpr Config olmo2 = changed([](Config& c) {
  c.norm_rounding = llm::Rounding::gain_then_round;
  c.norm_position = llm::NormPosition::branch, c.qk_norm = c.qk_norm_joint = true;
});
constexpr Config gpt_neox = changed([](Config& c) {
  c.n_kv_heads = 4, c.ffn_dim = 40, c.rope_dim = 2;
  c.norm = llm::Norm::layer_norm, c.mlp = llm::Mlp::gelu_erf;
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = c.parallel_residual = true;
});

constexpr Config gemma = changed([](Config& c) {
  c.head_dim = 8, c.norm_eps = 1e-6, c.tie_embeddings = true;
  c.norm_rounding = llm::Rounding::gain_then_round, c.mlp = llm::Mlp::geglu_tanh;
  c.norm_gain_offset = c.scale_embeddings = true;
});
constexpr Config gemma3 = [] {
  Config c = gemma;
  c.n_layers = 6, c.norm_position = llm::NormPosition::sandwich, c.qk_norm = true;
  c.attention_scale = 1.0 / 2.449489742783178;  // sqrt(6)
  c.rope_theta = 1e6, c.rope_theta_window = 1e4, c.sliding_window = 4, c.full_attention_every = 3;
  return c;
}();

/// Frozen and trainable, in the file's convention of RoPE and in the other one.
template <const Config& C>
void check_all(const std::string& directory) {
  INFO(directory);
  const std::string path = golden_path(directory);
  check_directory(llm::load<C>(path), directory);
  check_directory(llm::load_trainable<C>(path), directory);
  check_directory(llm::load<other_rope<C>>(path), directory);
}

}  // namespace

TEST_CASE("Mixtral", "[golden]") { check_all<mixtral>("hf/mixtral"); }
TEST_CASE("Qwen2-MoE: shared experts behind a gate", "[golden]") { check_all<qwen2_moe>("hf/qwen2_moe"); }
TEST_CASE("OLMoE: experts, norms over all heads", "[golden]") { check_all<olmoe>("hf/olmoe"); }
TEST_CASE("OLMo 2: norms after the branches", "[golden]") { check_all<olmo2>("hf/olmo2"); }
TEST_CASE("GPT-NeoX: branches side by side, part of a head rotated", "[golden]") { check_all<gpt_neox>("hf/gpt_neox"); }

TEST_CASE("Gemma: gains stored as w, scaled embeddings, GEGLU", "[golden]") { check_all<gemma>("hf/gemma"); }
TEST_CASE("Gemma 3: norms around the branches, two kinds of windows and rotations", "[golden]") { check_all<gemma3>("hf/gemma3"); }
