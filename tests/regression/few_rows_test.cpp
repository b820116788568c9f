// A pass over a few tokens has the bits of as many passes over one: what speculative decoding and batches rest on.
#include <llm/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include <llm/core/rng.hpp>
#include <support/catch.hpp>

namespace {

inline constexpr llm::Config modern{.vocab_size = 61,
                                    .d_model = 64,
                                    .n_layers = 2,
                                    .n_heads = 4,
                                    .n_kv_heads = 2,
                                    .ffn_dim = 176,
                                    .max_seq_len = 600,
                                    .position = llm::Position::rope_interleaved,
                                    .qk_norm = true};
inline constexpr llm::Config windowed = [] {
  llm::Config c = modern;
  c.sliding_window = 270;
  return c;
}();
inline constexpr llm::Config gpt2{.vocab_size = 61,
                                  .d_model = 60,
                                  .n_layers = 2,
                                  .n_heads = 3,
                                  .ffn_dim = 240,
                                  .max_seq_len = 600,
                                  .tie_embeddings = true,
                                  .norm = llm::Norm::layer_norm,
                                  .position = llm::Position::learned,
                                  .mlp = llm::Mlp::gelu_tanh,
                                  .qkv_bias = true,
                                  .attention_out_bias = true,
                                  .mlp_bias = true};

std::vector<llm::Token> some_ids(std::int64_t count, std::int64_t vocab_size, std::uint64_t seed) {
  std::vector<llm::Token> ids;
  llm::Rng rng(seed);
  while (static_cast<std::int64_t>(ids.size()) < count)
    ids.push_back(static_cast<llm::Token>(rng.below(static_cast<std::uint64_t>(vocab_size))));
  return ids;
}

/// The logits of ids[first ..], `chunk` tokens a pass, after a prompt of ids[.. first] that is read in one.
template <class Model>
auto in_chunks(const Model& model, const std::vector<llm::Token>& ids, std::size_t first, std::size_t chunk) {
  typename Model::Cache cache(1);
  std::vector<typename Model::T> out;
  const auto pass = [&](std::size_t from, std::size_t count) {
    return model(Model::Ids::from(std::span(ids).subspan(from, count), {1, static_cast<std::int64_t>(count)}), cache);
  };
  if (first > 0) pass(0, first);
  for (std::size_t at = first; at < ids.size(); at += chunk) {
    const auto logits = pass(at, (std::min)(chunk, ids.size() - at)).to_vector();
    out.insert(out.end(), logits.begin(), logits.end());
  }
  return out;
}

template <class A>
bool same_bits(const A& a, const A& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
}

template <const llm::Config& C, class W>
struct Case {
  using Model = llm::LLM<C, W>;
};
using Float = llm::Trainable<float>;
using Bf16 = llm::Trainable<llm::bf16>;

}  // namespace

TEMPLATE_TEST_CASE("A pass over up to 8 tokens has the bits of passes over one", "", (Case<modern, Float>), (Case<windowed, Float>),
                   (Case<gpt2, Float>), (Case<modern, Bf16>)) {
  using Model = typename TestType::Model;
  const auto model = Model::random(3);
  // Before 0 cached positions, within the first split of keys, across its end, far behind it.
  for (const std::size_t first : {0u, 21u, 250u, 540u}) {
    const auto ids = some_ids(static_cast<std::int64_t>(first) + 16, Model::V, first + 1);
    const auto alone = in_chunks(model, ids, first, 1);
    for (std::size_t chunk = 2; chunk <= 8; ++chunk) CHECK(same_bits(in_chunks(model, ids, first, chunk), alone));
    // Beyond 8 products go another way: equal but for rounding.
    const auto many = in_chunks(model, ids, first, 9);
    const double tolerance = std::is_same_v<typename Model::T, float> ? 1e-5 : 0.05;
    for (std::size_t i = 0; i < alone.size(); ++i)
      REQUIRE(std::abs(static_cast<double>(many[i]) - static_cast<double>(alone[i])) <= tolerance);
  }
}

TEMPLATE_TEST_CASE("Up to 8 rows of a batch have the bits of each alone", "", (Case<modern, Float>), (Case<windowed, Float>),
                   (Case<gpt2, Float>), (Case<modern, Bf16>)) {
  using Model = typename TestType::Model;
  const auto model = Model::random(4);
  const std::vector<std::int64_t> lengths{300, 1, 17, 256, 520, 40, 255, 9};
  typename Model::Cache together(8);
  std::vector<typename Model::Cache> alone;
  for (std::size_t row = 0; row < 8; ++row) {
    const auto prompt = Model::Ids::from(some_ids(lengths[row], Model::V, row), {1, lengths[row]});
    model.last_logits(prompt, together, static_cast<std::int64_t>(row));
    model.last_logits(prompt, alone.emplace_back(1));
  }
  for (std::uint64_t step = 0; step < 4; ++step) {
    const auto ids = some_ids(8, Model::V, 100 + step);
    const auto logits = model.last_logits(Model::Ids::from(ids, {8, 1}), together).to_vector();
    for (std::size_t row = 0; row < 8; ++row) {
      const auto expected = model.last_logits(Model::Ids::from({&ids[row], 1}, {1, 1}), alone[row]).to_vector();
      CHECK(std::memcmp(expected.data(), logits.data() + row * expected.size(), expected.size() * sizeof(expected[0])) == 0);
    }
  }
}
