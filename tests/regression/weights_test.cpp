// Weights and ids that do not fit the model: rows of q and k in the other rotary convention, token ids outside the vocabulary.
#include <cmath>
#include <string>
#include <vector>

#include <llm/backend/reference/reference.hpp>
#include <llm/model.hpp>
#include <support/catch.hpp>

namespace {

using Catch::Contains;
using llm::Token;

inline constexpr llm::Config half{
    .vocab_size = 31, .d_model = 32, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 16, .ffn_dim = 48, .max_seq_len = 16};
inline constexpr llm::Config interleaved = [] {
  llm::Config c = half;
  c.position = llm::Position::rope_interleaved;
  return c;
}();

/// Weights large enough for positions to show.
template <const llm::Config& C, class B>
auto wide_model() {
  auto model = llm::LLM<C, llm::Trainable<float>, B>::random(1);
  model.for_each_parameter([](auto& p) {
    if (p.is_matrix()) B::template scale<float>(p.tensor().data(), p.numel(), 8.0);
  });
  return model;
}

/// Rows of every q and k head from half-split to interleaved order: elements i and i + E / 2 of a head become 2 i and 2 i + 1.
template <class Model>
void permute_to_interleaved(Model& model) {
  model.for_each_parameter([](auto& p) {
    const std::string name = p.name();
    if (name.find("q_proj") == std::string::npos && name.find("k_proj") == std::string::npos) return;
    const auto E = static_cast<std::size_t>(Model::config.head_width()), columns = static_cast<std::size_t>(p.shape()[1]);
    const auto from = p.tensor().to_vector();
    auto to = from;
    for (std::size_t row = 0; row < from.size() / columns; ++row) {
      const std::size_t head = row / E, i = row % E, target = head * E + (i < E / 2 ? 2 * i : 2 * (i - E / 2) + 1);
      for (std::size_t c = 0; c < columns; ++c) to[target * columns + c] = from[row * columns + c];
    }
    p.tensor().assign(to);
  });
}

/// Largest difference of the logits at position 0, and at the later ones.
struct Difference {
  double at_0 = 0.0, later = 0.0;
};
template <class A, class B>
Difference difference(const A& a, const B& b) {
  std::vector<Token> ids;
  for (Token i = 0; i < 12; ++i) ids.push_back((i * 7 + 3) % 31);
  const auto left = a(A::Ids::from(ids, {1, 12})).to_vector(), right = b(B::Ids::from(ids, {1, 12})).to_vector();
  Difference d;
  for (std::size_t i = 0; i < left.size(); ++i) {
    double& largest = static_cast<std::int64_t>(i) < A::V ? d.at_0 : d.later;
    largest = std::fmax(largest, std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i])));
  }
  return d;
}

}  // namespace

TEMPLATE_TEST_CASE("Permuted q and k rows with the other convention give the same logits, one of both others [rope_conv]", "",
                   llm::Reference, llm::Cpu) {
  const auto original = wide_model<half, TestType>();
  auto both = wide_model<interleaved, TestType>();
  permute_to_interleaved(both);
  CHECK(difference(original, both).at_0 < 1e-5);
  CHECK(difference(original, both).later < 1e-5);

  auto rows_only = wide_model<half, TestType>();
  permute_to_interleaved(rows_only);
  const auto flag_only = wide_model<interleaved, TestType>();
  for (const Difference& d : {difference(original, rows_only), difference(original, flag_only)}) {
    CHECK(d.at_0 < 1e-5);
    CHECK(d.later > 1e-2);
  }
}

TEMPLATE_TEST_CASE("Ids outside the vocabulary are errors [oov]", "", llm::Reference, llm::Cpu) {
  using Model = llm::LLM<half, llm::Trainable<float>, TestType>;
  using Ids = typename Model::Ids;
  const auto model = Model::random(1);
  const Ids good = Ids::from(std::vector<Token>{1, 2, 30}, {1, 3});
  for (const Token wrong : {31, -1, 2147483647}) {
    const Ids bad = Ids::from(std::vector<Token>{1, wrong, 2}, {1, 3});
    const auto names_it = Contains("id " + std::to_string(wrong) + " at position 1 is outside [0, 31)");
    const auto names_target = Contains("target " + std::to_string(wrong) + " at position 1");

    const auto table = llm::Tensor<float, llm::Shape<31, 4>, TestType>::zeros();
    CHECK_THROWS_WITH(llm::embedding(bad, table), names_it);
    const auto logits = llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, 31>, TestType>::zeros({1, 3});
    CHECK_THROWS_WITH(llm::cross_entropy(logits, bad), names_target);

    CHECK_THROWS_WITH(model(bad), names_it);
    CHECK_THROWS_WITH(model.loss(bad, good), names_it);
    CHECK_THROWS_WITH(model.loss(good, bad), names_target);

    llm::KvCache<half, float, TestType> cache;
    model.last_logits(good, cache);
    CHECK_THROWS_AS(model(bad, cache), llm::ValueError);
    CHECK_THROWS_AS(model.last_logits(bad, cache), llm::ValueError);
    CHECK(cache.length() == 3);
    CHECK_NOTHROW(model.last_logits(good, cache));
    CHECK_THROWS_AS(llm::generate_tokens(model, std::vector<Token>{1, wrong}, {.max_new_tokens = 1}), llm::ValueError);
  }
}
