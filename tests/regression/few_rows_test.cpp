// A pass over a few tokens has the bits of as many passes over one: what speculative decoding and batches rest on.
#include <llm/model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include <llm/core/rng.hpp>
#include <support/catch.hpp>
#include <support/encoded_model.hpp>
#include <support/same_bits.hpp>

namespace {

using llm_test::same_bits;

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

inline constexpr llm::Config blocks_of_32 = [] {
  llm::Config c = modern;
  c.ffn_dim = 192;
  return c;
}();

inline constexpr llm::Config blocks_of_256 = [] {
  llm::Config c = modern;
  c.d_model = 256;
  c.ffn_dim = 512;
  c.norm_position = llm::NormPosition::sandwich;
  return c;
}();
inline constexpr llm::Config branches = [] {
  llm::Config c = modern;
  c.parallel_residual = true;
  return c;
}();
inline constexpr llm::Config mixed = [] {
  llm::Config c = blocks_of_32;
  c.experts = {.count = 6, .active = 2, .ffn_dim = 96, .shared_ffn_dim = 64, .shared_gate = true, .first_dense = 1};
  return c;
}();

/// A frozen model whose matrices are stored in many formats.
template <const llm::Config& C>
llm::LLM<C, llm::Frozen> make_frozen(std::uint64_t seed) {
  using enum llm::DType;
  constexpr bool large = C.d_model % 256 == 0;
  constexpr std::array formats{large ? q4_k : q8_0, large ? q6_k : q4_1, large ? q2_k : q4_0, bf16,
                               large ? q5_k : f16,  large ? q3_k : q5_1, large ? q5_0 : f32};
  return llm_test::encoded(llm::LLM<C>::random(seed), [&](std::size_t at) { return formats[at % formats.size()]; });
}

template <class Model>
Model make(std::uint64_t seed) {
  if constexpr (llm::detail::is_frozen_model<Model>)
    return make_frozen<Model::config>(seed);
  else
    return Model::random(seed);
}
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

/// Between results that are equal but for rounding; where activations are rounded to int8, one that is so by another step has an effect.
template <class Model>
constexpr double tolerance = std::is_same_v<typename Model::T, llm::bf16> ? 0.05
                             : llm::detail::is_frozen_model<Model>        ? 0.01
                                                                          : 1e-5;

template <const llm::Config& C, class W>
struct Case {
  using Model = llm::LLM<C, W>;
};
using Float = llm::Trainable<float>;
using Bf16 = llm::Trainable<llm::bf16>;

}  // namespace

TEMPLATE_TEST_CASE("A pass over up to 8 tokens has the bits of passes over one", "", (Case<modern, Float>), (Case<windowed, Float>),
                   (Case<gpt2, Float>), (Case<modern, Bf16>), (Case<blocks_of_32, llm::Frozen>), (Case<branches, Float>),
                   (Case<blocks_of_256, llm::Frozen>), (Case<mixed, Float>), (Case<mixed, llm::Frozen>)) {
  using Model = typename TestType::Model;
  const auto model = make<Model>(3);
  // Before 0 cached positions, within the first split of keys, across its end, far behind it.
  for (const std::size_t first : {0u, 21u, 250u, 540u}) {
    const auto ids = some_ids(static_cast<std::int64_t>(first) + 16, Model::V, first + 1);
    const auto alone = in_chunks(model, ids, first, 1);
    for (std::size_t chunk = 2; chunk <= 8; ++chunk) CHECK(same_bits(in_chunks(model, ids, first, chunk), alone));
    // Beyond 8 products go another way: equal but for rounding.
    const auto many = in_chunks(model, ids, first, 9);
    for (std::size_t i = 0; i < alone.size(); ++i)
      REQUIRE(std::abs(static_cast<double>(many[i]) - static_cast<double>(alone[i])) <= tolerance<Model>);
  }
}

// Not so of a mixture of experts, each of which takes a few rows of a pass, unless its weights are in block formats, whose sums have one
// order.
TEMPLATE_TEST_CASE("A prompt read in passes of more than 8 tokens has the bits of one pass", "", (Case<modern, Float>),
                   (Case<windowed, Float>), (Case<gpt2, Float>), (Case<modern, Bf16>), (Case<blocks_of_32, llm::Frozen>),
                   (Case<branches, Float>), (Case<blocks_of_256, llm::Frozen>)) {
  using Model = typename TestType::Model;
  const auto model = make<Model>(5);
  for (const std::size_t total : {30u, 77u, 330u}) {
    const auto ids = some_ids(static_cast<std::int64_t>(total), Model::V, total);
    const auto last_of = [&](const std::vector<std::size_t>& ends) {
      typename Model::Cache cache(1);
      std::vector<typename Model::T> last;
      std::size_t from = 0;
      for (const std::size_t to : ends) {
        const auto some = std::span(ids).subspan(from, to - from);
        last = model.last_logits(Model::Ids::from(some, {1, static_cast<std::int64_t>(some.size())}), cache).to_vector();
        from = to;
      }
      return last;
    };
    const auto whole = last_of({total});
    const auto check = [&](const std::vector<std::size_t>& ends) {
      const auto pieces = last_of(ends);
      if (llm::cpu::current_isa() != llm::cpu::Isa::portable) {
        CHECK(same_bits(pieces, whole));
        return;
      }
      for (std::size_t v = 0; v < whole.size(); ++v)  // Eigen's products depend on the number of rows
        REQUIRE(std::abs(static_cast<double>(pieces[v]) - static_cast<double>(whole[v])) <= tolerance<Model>);
    };
    for (const std::size_t first : {9u, 16u, 21u, 50u, 64u, 68u, 300u, 321u})
      if (first + 9 <= total) check({first, total});
    check({10, 20, total});
  }
}

TEMPLATE_TEST_CASE("Up to 8 rows of a batch have the bits of each alone", "", (Case<modern, Float>), (Case<windowed, Float>),
                   (Case<gpt2, Float>), (Case<modern, Bf16>), (Case<blocks_of_32, llm::Frozen>), (Case<branches, Float>),
                   (Case<blocks_of_256, llm::Frozen>), (Case<mixed, Float>), (Case<mixed, llm::Frozen>)) {
  using Model = typename TestType::Model;
  const auto model = make<Model>(4);
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
