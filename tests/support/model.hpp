// Golden models: the configs of tests/data/goldens, and loading their parameters into a model.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <llm/backend/reference/reference.hpp>
#include <llm/model.hpp>
#include <support/golden.hpp>

namespace llm_test {

inline constexpr llm::Config llama_tiny{.vocab_size = 97,
                                        .d_model = 48,
                                        .n_layers = 2,
                                        .n_heads = 6,
                                        .n_kv_heads = 2,
                                        .head_dim = 8,
                                        .ffn_dim = 128,
                                        .max_seq_len = 32,
                                        .tie_embeddings = true};
inline constexpr llm::Config modern_tiny{.vocab_size = 41,
                                         .d_model = 32,
                                         .n_layers = 2,
                                         .n_heads = 4,
                                         .n_kv_heads = 2,
                                         .head_dim = 8,
                                         .ffn_dim = 88,
                                         .max_seq_len = 24,
                                         .norm_eps = 1e-6,
                                         .position = llm::Position::rope_interleaved,
                                         .qk_norm = true};
inline constexpr llm::Config gpt2_tiny_pre{.vocab_size = 53,
                                           .d_model = 32,
                                           .n_layers = 2,
                                           .n_heads = 4,
                                           .ffn_dim = 128,
                                           .max_seq_len = 24,
                                           .tie_embeddings = true,
                                           .norm = llm::Norm::layer_norm,
                                           .position = llm::Position::learned,
                                           .mlp = llm::Mlp::gelu_tanh,
                                           .qkv_bias = true,
                                           .attention_out_bias = true,
                                           .mlp_bias = true};
inline constexpr llm::Config gpt2_tiny_post = [] {
  llm::Config c = gpt2_tiny_pre;
  c.norm_position = llm::NormPosition::post;
  return c;
}();

/// A backend and an element type, for TEMPLATE_TEST_CASE.
template <class B, class S>
struct On {
  using Backend = B;
  using T = S;
  template <const llm::Config& C>
  using Model = llm::LLM<C, llm::Trainable<S>, B>;
};
using ReferenceFloat = On<llm::Reference, float>;
using ReferenceDouble = On<llm::Reference, double>;
using CpuFloat = On<llm::Cpu, float>;
using CpuDouble = On<llm::Cpu, double>;

/// The name that a golden file gives a parameter of ours.
inline std::string golden_name(std::string name, const Golden& file) {
  static const std::vector<std::pair<std::string, std::string>> llama = {{"model.layers.", "blocks."},
                                                                         {"self_attn", "attn"},
                                                                         {"input_layernorm", "attn_norm"},
                                                                         {"post_attention_layernorm", "{mlp}_norm"},
                                                                         {".mlp.", ".{mlp}."},
                                                                         {"model.embed_tokens", "{embed}"},
                                                                         {"model.norm", "norm"}};
  static const std::vector<std::pair<std::string, std::string>> gpt2 = {
      {"model.layers.", "h."},   {"self_attn", "attn"},         {"input_layernorm", "ln_1"},   {"post_attention_layernorm", "ln_2"},
      {"mlp.up_proj", "mlp.fc"}, {"mlp.down_proj", "mlp.proj"}, {"model.embed_tokens", "wte"}, {"model.embed_positions", "wpe"},
      {"model.norm", "ln_f"}};
  const auto replace = [&](const std::string& from, const std::string& to) {
    const auto at = name.find(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
  };
  for (const auto& [from, to] : file.has("wte.weight") ? gpt2 : llama) replace(from, to);
  replace("{mlp}", file.metadata("mlp", ""));
  replace("{embed}", file.metadata("embed", ""));
  return name;
}

/// A model whose parameters are a golden file's, with `prefix` before each name there.
template <class Model>
Model load_golden(const Golden& file, const std::string& prefix = "") {
  Model model = Model::uninitialised();
  model.for_each_parameter([&](auto& p) {
    const auto values = file.tensor<typename Model::T>(prefix + golden_name(p.name(), file));
    REQUIRE(std::vector<std::int64_t>(p.shape().begin(), p.shape().end()) == values.shape);
    p.tensor().assign(values.values);
  });
  return model;
}

template <class Model>
typename Model::Ids golden_ids(const Golden& file, const std::string& name) {
  const auto ids = file.tensor<std::int32_t>(name);
  return Model::Ids::from(ids.values, {ids.extent(0), ids.extent(1)});
}

/// Checks |actual - expected| <= tolerance for all elements.
template <class Tensor>
void check_equal(const std::string& what, const Tensor& actual, const Golden& file, const std::string& name, double tolerance) {
  const auto got = actual.to_vector();
  const auto expected = file.tensor<double>(name);
  INFO(what << " against " << name << ", tolerance " << tolerance);
  REQUIRE(static_cast<std::int64_t>(got.size()) == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - expected.values[i]);
    if (!(difference <= worst)) worst = difference;  // catches NaN too
  }
  CHECK(worst <= tolerance);
}

/// The tolerance of a group of golden values: 1e-6 plus ten times what PyTorch's own f32 deviates.
inline double golden_tolerance(const Golden& file, const std::string& group) { return 1e-6 + 10 * file.number("f32_dev." + group); }

}  // namespace llm_test
