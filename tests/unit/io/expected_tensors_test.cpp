#include <llm/io/expected_tensors.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/configs/all.hpp>
#include <llm/io/safetensors.hpp>
#include <support/catch.hpp>

namespace {

using Shape = std::vector<std::int64_t>;
using List = std::vector<std::pair<std::string, Shape>>;
using llm::Family;
using llm::TensorLayout;
using llm::TensorNames;

/// All but copies, sorted by name.
List sorted(const llm::Config& config, Family family, TensorLayout layout = {}) {
  List out;
  for (auto& tensor : llm::expected_tensors(config, family, layout))
    if (tensor.copy_of.empty()) out.push_back({tensor.name, tensor.shape});
  std::sort(out.begin(), out.end());
  return out;
}

llm::Config one_layer() {
  return {.vocab_size = 11,
          .d_model = 8,
          .n_layers = 1,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 3,
          .ffn_dim = 20,
          .max_seq_len = 7,
          .tie_embeddings = true};
}

std::int64_t elements(const llm::Config& config, Family family, TensorLayout layout) {
  std::int64_t sum = 0;
  llm::for_each_expected_tensor(config, family, layout, [&](const llm::ExpectedTensor& tensor) {
    std::int64_t count = tensor.copy_of.empty() ? 1 : 0;
    for (const std::int64_t extent : tensor.shape) count *= extent;
    sum += count;
  });
  return sum;
}

/// The family of a config of the library by the beginning of its name.
Family family_of(std::string_view name) {
  static const std::pair<std::string_view, Family> beginnings[] = {{"mixtral", Family::mixtral},
                                                                   {"mistral", Family::mistral},
                                                                   {"qwen1_5_moe", Family::qwen3_moe},
                                                                   {"qwen2_5", Family::qwen2},
                                                                   {"qwen3_30b_a3b", Family::qwen3_moe},
                                                                   {"qwen3_235b_a22b", Family::qwen3_moe},
                                                                   {"qwen3", Family::qwen3},
                                                                   {"gpt2", Family::gpt2},
                                                                   {"gemma2", Family::gemma2},
                                                                   {"gemma3", Family::gemma3},
                                                                   {"gemma", Family::gemma},
                                                                   {"phi", Family::phi3},
                                                                   {"olmo2", Family::olmo2},
                                                                   {"olmoe", Family::qwen3_moe},
                                                                   {"deepseek_v2", Family::deepseek_v2},
                                                                   {"deepseek_v3", Family::deepseek_v3},
                                                                   {"pythia", Family::gpt_neox},
                                                                   {"starcoder2", Family::starcoder2}};
  for (const auto& [beginning, family] : beginnings)
    if (name.starts_with(beginning)) return family;
  return Family::llama;
}

}  // namespace

TEST_CASE("the expected tensors of every config of the library have as many elements as the accountant counts [count]") {
  for (const auto& [name, config] : llm::configs::all) {
    INFO(name);
    const std::int64_t total = llm::parameter_count(*config).total;
    CHECK(elements(*config, family_of(name), {}) == total);
    CHECK(elements(*config, family_of(name), {.bare = true}) == total);
    CHECK(elements(*config, family_of(name), {.names = TensorNames::gguf}) == total);
    if (config->latent_attention()) CHECK(elements(*config, family_of(name), {.names = TensorNames::gguf, .split_latent = true}) == total);
    if (config->has_experts()) CHECK(elements(*config, family_of(name), {.stacked = true}) == total);
  }
}

TEST_CASE("names are given once") {
  for (const auto& [name, config] : llm::configs::all) {
    for (const auto names : {TensorNames::hugging_face, TensorNames::gguf}) {
      INFO(name);
      std::set<std::string> seen;
      std::size_t count = 0;
      llm::for_each_expected_tensor(*config, family_of(name), {.names = names}, [&](const llm::ExpectedTensor& tensor) {
        seen.insert(tensor.name);
        ++count;
      });
      CHECK(seen.size() == count);
    }
  }
}

TEST_CASE("a Llama's tensors, head by head") {
  CHECK(sorted(one_layer(), Family::llama) == List{{"model.embed_tokens.weight", {11, 8}},
                                                   {"model.layers.0.input_layernorm.weight", {8}},
                                                   {"model.layers.0.mlp.down_proj.weight", {8, 20}},
                                                   {"model.layers.0.mlp.gate_proj.weight", {20, 8}},
                                                   {"model.layers.0.mlp.up_proj.weight", {20, 8}},
                                                   {"model.layers.0.post_attention_layernorm.weight", {8}},
                                                   {"model.layers.0.self_attn.k_proj.weight", {6, 8}},
                                                   {"model.layers.0.self_attn.o_proj.weight", {8, 12}},
                                                   {"model.layers.0.self_attn.q_proj.weight", {12, 8}},
                                                   {"model.layers.0.self_attn.v_proj.weight", {6, 8}},
                                                   {"model.norm.weight", {8}}});
}

TEST_CASE("a tied head may be there as a copy, another must be [tied_redundant]") {
  llm::Config config = one_layer();
  auto all = llm::expected_tensors(config, Family::llama);
  CHECK(all.back() == llm::ExpectedTensor{"lm_head.weight", {11, 8}, "model.embed_tokens.weight"});
  config.tie_embeddings = false;
  all = llm::expected_tensors(config, Family::llama, {.bare = true});
  CHECK(all.back() == llm::ExpectedTensor{"lm_head.weight", {11, 8}, ""});
  CHECK(all.front().name == "embed_tokens.weight");
}

TEST_CASE("GPT-2 stores its matrices [in, out], q, k and v as one") {
  llm::Config config = one_layer();
  config.n_kv_heads = 4;
  config.norm = llm::Norm::layer_norm;
  config.position = llm::Position::learned;
  config.mlp = llm::Mlp::gelu_tanh;
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = true;
  CHECK(sorted(config, Family::gpt2) == List{{"transformer.h.0.attn.c_attn.bias", {36}},
                                             {"transformer.h.0.attn.c_attn.weight", {8, 36}},
                                             {"transformer.h.0.attn.c_proj.bias", {8}},
                                             {"transformer.h.0.attn.c_proj.weight", {12, 8}},
                                             {"transformer.h.0.ln_1.bias", {8}},
                                             {"transformer.h.0.ln_1.weight", {8}},
                                             {"transformer.h.0.ln_2.bias", {8}},
                                             {"transformer.h.0.ln_2.weight", {8}},
                                             {"transformer.h.0.mlp.c_fc.bias", {20}},
                                             {"transformer.h.0.mlp.c_fc.weight", {8, 20}},
                                             {"transformer.h.0.mlp.c_proj.bias", {8}},
                                             {"transformer.h.0.mlp.c_proj.weight", {20, 8}},
                                             {"transformer.ln_f.bias", {8}},
                                             {"transformer.ln_f.weight", {8}},
                                             {"transformer.wpe.weight", {7, 8}},
                                             {"transformer.wte.weight", {11, 8}}});
  CHECK(sorted(config, Family::gpt2, {.names = TensorNames::gguf}) == List{{"blk.0.attn_norm.bias", {8}},
                                                                           {"blk.0.attn_norm.weight", {8}},
                                                                           {"blk.0.attn_output.bias", {8}},
                                                                           {"blk.0.attn_output.weight", {8, 12}},
                                                                           {"blk.0.attn_qkv.bias", {36}},
                                                                           {"blk.0.attn_qkv.weight", {36, 8}},
                                                                           {"blk.0.ffn_down.bias", {8}},
                                                                           {"blk.0.ffn_down.weight", {8, 20}},
                                                                           {"blk.0.ffn_norm.bias", {8}},
                                                                           {"blk.0.ffn_norm.weight", {8}},
                                                                           {"blk.0.ffn_up.bias", {20}},
                                                                           {"blk.0.ffn_up.weight", {20, 8}},
                                                                           {"output_norm.bias", {8}},
                                                                           {"output_norm.weight", {8}},
                                                                           {"position_embd.weight", {7, 8}},
                                                                           {"token_embd.weight", {11, 8}}});
}

TEST_CASE("norms of the families that normalise branches") {
  llm::Config config = one_layer();
  const auto norms = [&](Family family, TensorNames names = TensorNames::hugging_face) {
    std::set<std::string> out;
    for (const auto& tensor : llm::expected_tensors(config, family, {.names = names}))
      if (tensor.shape.size() == 1)
        out.insert(tensor.name.substr(tensor.name.find("0.") == std::string::npos ? 0 : tensor.name.find("0.") + 2));
    return out;
  };
  config.norm_position = llm::NormPosition::sandwich;
  config.qk_norm = true;
  CHECK(norms(Family::gemma3) == std::set<std::string>{"input_layernorm.weight", "post_attention_layernorm.weight",
                                                       "pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight",
                                                       "self_attn.q_norm.weight", "self_attn.k_norm.weight", "model.norm.weight"});
  config.norm_position = llm::NormPosition::branch;
  config.qk_norm_joint = true;
  CHECK(norms(Family::olmo2) == std::set<std::string>{"post_attention_layernorm.weight", "post_feedforward_layernorm.weight",
                                                      "self_attn.q_norm.weight", "self_attn.k_norm.weight", "model.norm.weight"});
  for (const auto& tensor : llm::expected_tensors(config, Family::olmo2)) {
    if (tensor.name.ends_with("q_norm.weight")) CHECK(tensor.shape == Shape{12});
    if (tensor.name.ends_with("k_norm.weight")) CHECK(tensor.shape == Shape{6});
  }
  CHECK(norms(Family::olmo2, TensorNames::gguf).contains("post_ffw_norm.weight"));
}

TEST_CASE("experts, one by one and stacked") {
  llm::Config config = one_layer();
  config.experts = {.count = 2, .active = 1, .ffn_dim = 5};
  const auto find = [&](Family family, TensorLayout layout, std::string_view wanted) {
    for (const auto& tensor : llm::expected_tensors(config, family, layout))
      if (tensor.name == wanted) return tensor.shape;
    return Shape{};
  };
  CHECK(find(Family::mixtral, {}, "model.layers.0.block_sparse_moe.gate.weight") == Shape{2, 8});
  CHECK(find(Family::mixtral, {}, "model.layers.0.block_sparse_moe.experts.1.w1.weight") == Shape{5, 8});
  CHECK(find(Family::mixtral, {}, "model.layers.0.block_sparse_moe.experts.1.w2.weight") == Shape{8, 5});
  CHECK(find(Family::mixtral, {}, "model.layers.0.block_sparse_moe.experts.1.w3.weight") == Shape{5, 8});
  CHECK(find(Family::mixtral, {.stacked = true}, "model.layers.0.mlp.gate.weight") == Shape{2, 8});
  CHECK(find(Family::mixtral, {.stacked = true}, "model.layers.0.mlp.experts.gate_up_proj") == Shape{2, 10, 8});
  CHECK(find(Family::mixtral, {.stacked = true}, "model.layers.0.mlp.experts.down_proj") == Shape{2, 8, 5});
  CHECK(find(Family::qwen3_moe, {}, "model.layers.0.mlp.experts.0.down_proj.weight") == Shape{8, 5});
  CHECK(find(Family::qwen3_moe, {.names = TensorNames::gguf}, "blk.0.ffn_gate_inp.weight") == Shape{2, 8});
  CHECK(find(Family::qwen3_moe, {.names = TensorNames::gguf}, "blk.0.ffn_down_exps.weight") == Shape{2, 8, 5});
  config.experts.shared_ffn_dim = 6;
  config.experts.score_bias = true;
  CHECK(find(Family::deepseek_v3, {}, "model.layers.0.mlp.shared_experts.down_proj.weight") == Shape{8, 6});
  CHECK(find(Family::deepseek_v3, {}, "model.layers.0.mlp.gate.e_score_correction_bias") == Shape{2});
  CHECK(find(Family::deepseek_v3, {.names = TensorNames::gguf}, "blk.0.ffn_up_shexp.weight") == Shape{6, 8});
}

TEST_CASE("latent attention") {
  llm::Config config = one_layer();
  config.n_kv_heads = config.head_dim = 0;
  config.mla = {.kv_rank = 5, .q_rank = 3, .nope_dim = 2, .rope_dim = 4, .v_dim = 7};
  List found;
  for (const auto& [name, shape] : sorted(config, Family::deepseek_v2))
    if (name.find("self_attn") != std::string::npos) found.push_back({name.substr(name.rfind("attn.") + 5), shape});
  CHECK(found == List{{"kv_a_layernorm.weight", {5}},
                      {"kv_a_proj_with_mqa.weight", {9, 8}},
                      {"kv_b_proj.weight", {36, 5}},
                      {"o_proj.weight", {8, 28}},
                      {"q_a_layernorm.weight", {3}},
                      {"q_a_proj.weight", {3, 8}},
                      {"q_b_proj.weight", {24, 3}}});
  found.clear();
  for (const auto& [name, shape] : sorted(config, Family::deepseek_v2, {.names = TensorNames::gguf, .split_latent = true}))
    if (name.ends_with("_b.weight")) found.push_back({name, shape});
  CHECK(found == List{{"blk.0.attn_k_b.weight", {4, 5, 2}}, {"blk.0.attn_q_b.weight", {24, 3}}, {"blk.0.attn_v_b.weight", {4, 7, 5}}});
}

TEST_CASE("what a family has no names for is an error, and so are absurd numbers of tensors") {
  llm::Config config = one_layer();
  config.experts = {.count = 2, .active = 1};
  CHECK_THROWS_WITH(llm::expected_tensors(config, Family::gemma), Catch::Contains("gemma has no name for experts"));
  config = one_layer();
  config.mla = {.kv_rank = 5, .rope_dim = 4, .v_dim = 7};
  CHECK_THROWS_AS(llm::expected_tensors(config, Family::llama), llm::ConfigError);
  config = one_layer();
  config.position = llm::Position::learned;
  CHECK_THROWS_AS(llm::expected_tensors(config, Family::llama), llm::ConfigError);
  config = one_layer();
  config.n_layers = INT64_MAX / 2;
  CHECK_THROWS_WITH(llm::expected_tensors(config, Family::llama), Catch::Contains("more than 1048576 tensors"));
  config = one_layer();
  config.experts = {.count = INT64_MAX / 4, .active = 1};
  CHECK_THROWS_AS(llm::expected_tensors(config, Family::mixtral), llm::ConfigError);
}
