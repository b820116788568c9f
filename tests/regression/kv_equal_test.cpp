// The KV cache changes nothing: prefill, single steps and a full forward pass give the same logits and the same tokens.
#include <llm/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <llm/core/rng.hpp>
#include <support/catch.hpp>

namespace {

using Tokens = std::vector<llm::Token>;

inline constexpr llm::Config rope_half{
    .vocab_size = 31, .d_model = 32, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .ffn_dim = 48, .max_seq_len = 40};
template <auto Change>
inline constexpr llm::Config variant = [] {
  llm::Config c = rope_half;
  Change(c);
  return c;
}();

inline constexpr llm::Config interleaved = variant<[](llm::Config& c) {
  c.position = llm::Position::rope_interleaved;
  c.qk_norm = true;
}>;
inline constexpr llm::Config partial_rope = variant<[](llm::Config& c) { c.rope_dim = 4; }>;
inline constexpr llm::Config learned = variant<[](llm::Config& c) {
  c.position = llm::Position::learned;
  c.norm = llm::Norm::layer_norm;
  c.mlp = llm::Mlp::gelu_tanh;
  c.qkv_bias = true;
}>;
inline constexpr llm::Config post_norm = variant<[](llm::Config& c) { c.norm_position = llm::NormPosition::post; }>;
inline constexpr llm::Config window = variant<[](llm::Config& c) { c.sliding_window = 5; }>;
inline constexpr llm::Config mqa = variant<[](llm::Config& c) { c.n_kv_heads = 1; }>;
inline constexpr llm::Config mha = variant<[](llm::Config& c) { c.n_kv_heads = 4; }>;

/// A model, the cache's element type, and how far apart the logits of two passes through the cache may be, and of one and a full pass.
/// With a bf16 cache, numbers that differ in the last bit of f32 may round to neighbours.
template <const llm::Config& C, class KV = float>
struct Case {
  using Model = llm::LLM<C>;
  using Cache = llm::KvCache<C, KV>;
  static constexpr bool exact = std::is_same_v<KV, float>;
  static constexpr double between_passes = exact ? 1e-5 : 5e-3;
  static constexpr double from_full = exact ? 1e-5 : 5e-2;
};

/// Weights with a standard deviation of 0.2: logits of about 1, and every position matters.
template <class Model>
Model strong() {
  Model model = Model::random(5);
  std::uint64_t stream = 100;
  model.for_each_parameter([&](auto& p) {
    const bool matrix = p.kind() == llm::ParameterKind::matrix || p.kind() == llm::ParameterKind::residual_output;
    const double mean = p.kind() == llm::ParameterKind::gain ? 1.0 : 0.0;
    for (std::int64_t i = 0; i < p.numel(); ++i)
      p.tensor().data()[i] = static_cast<float>(mean + (matrix ? 0.2 : 0.1) * llm::normal_at(5, stream, static_cast<std::uint64_t>(i)));
    ++stream;
  });
  return model;
}

Tokens text(std::size_t length) {
  Tokens ids;
  llm::Rng rng(17);
  while (ids.size() < length) ids.push_back(static_cast<llm::Token>(rng.below(31)));
  return ids;
}

template <class Model>
auto ids_of(std::span<const llm::Token> ids) {
  return Model::Ids::from(ids, {1, static_cast<std::int64_t>(ids.size())});
}

/// Logits [T, V] from passes that end at the given positions.
template <class Model, class Cache>
std::vector<float> in_passes(const Model& model, const Tokens& ids, const std::vector<std::size_t>& ends) {
  Cache cache(1, static_cast<std::int64_t>(ids.size()));
  std::vector<float> all;
  std::size_t from = 0;
  for (const std::size_t end : ends) {
    const auto logits = model(ids_of<Model>(std::span(ids).subspan(from, end - from)), cache).to_vector();
    all.insert(all.end(), logits.begin(), logits.end());
    from = end;
  }
  return all;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) / (1 + std::abs(static_cast<double>(b[i])));
    if (!(difference <= worst)) worst = difference;  // catches NaN too
  }
  return worst;
}

}  // namespace

TEMPLATE_TEST_CASE("Prefill of n, n single steps and a full pass agree [kv_equal]", "", Case<rope_half>, Case<interleaved>,
                   Case<partial_rope>, Case<learned>, Case<post_norm>, Case<window>, Case<mqa>, Case<mha>, (Case<rope_half, llm::bf16>),
                   (Case<interleaved, llm::bf16>), (Case<window, llm::bf16>)) {
  using Model = typename TestType::Model;
  using Cache = typename TestType::Cache;
  const auto model = strong<Model>();
  const Tokens ids = text(24);
  const auto full = model(ids_of<Model>(ids)).to_vector();
  std::vector<std::size_t> each(24);
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = i + 1;
  const auto steps = in_passes<Model, Cache>(model, ids, each);
  const auto prefill = in_passes<Model, Cache>(model, ids, {24});
  CHECK(distance(prefill, steps) <= TestType::between_passes);
  CHECK(distance(in_passes<Model, Cache>(model, ids, {9, 10, 24}), steps) <= TestType::between_passes);
  CHECK(distance(steps, full) <= TestType::from_full);
  CHECK(distance(prefill, full) <= TestType::from_full);
}

TEMPLATE_TEST_CASE("Greedy tokens with the cache are those without [kv_equal]", "", Case<rope_half>, Case<interleaved>, Case<partial_rope>,
                   Case<learned>, Case<post_norm>, Case<window>, Case<mqa>, Case<mha>) {
  using Model = typename TestType::Model;
  const auto model = strong<Model>();
  Tokens ids = text(6);
  const auto generated = llm::generate_tokens(model, ids, {.max_new_tokens = 30, .temperature = 0});
  while (ids.size() < 36) {
    const auto logits = model(ids_of<Model>(ids)).to_vector();
    const auto last = logits.end() - Model::V;
    ids.push_back(static_cast<llm::Token>(std::max_element(last, logits.end()) - last));
  }
  CHECK(generated == ids);
}

TEST_CASE("Greedy tokens with a bf16 cache are the most probable ones but for its rounding [kv_equal]") {
  using Model = llm::LLM<interleaved>;
  const auto model = strong<Model>();
  Tokens ids = text(6);
  llm::Session<Model, llm::NoDrafter, llm::KvCache<interleaved, llm::bf16>> session(model);
  for (const llm::Token token : llm::generate(session, ids, {.max_new_tokens = 30, .temperature = 0})) {
    const auto logits = model(ids_of<Model>(ids)).to_vector();
    const auto last = logits.end() - Model::V;
    CHECK(last[token] >= *std::max_element(last, logits.end()) - 0.1f);
    ids.push_back(token);
  }
  CHECK(ids.size() == 36);
}
