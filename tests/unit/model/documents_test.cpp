// Packed documents do not see each other [doc_mask].
#include <llm/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <llm/autograd/tape.hpp>
#include <llm/model/freeze.hpp>
#include <support/catch.hpp>
#include <support/generation.hpp>

namespace {

using llm_test::modern_words;
using llm_test::Tokens;

inline constexpr llm::Config windowed_words = [] {
  llm::Config c = modern_words;
  c.sliding_window = 7;
  return c;
}();
inline constexpr llm::Config gpt2_words{.vocab_size = 40,
                                        .d_model = 24,
                                        .n_layers = 2,
                                        .n_heads = 3,
                                        .ffn_dim = 40,
                                        .max_seq_len = 160,
                                        .tie_embeddings = true,
                                        .norm = llm::Norm::layer_norm,
                                        .position = llm::Position::learned,
                                        .mlp = llm::Mlp::gelu_tanh};

template <const llm::Config& C, class W>
struct Case {
  using Model = llm::LLM<C, W>;
};
using Float = llm::Trainable<float>;
using Bf16 = llm::Trainable<llm::bf16>;
using Double = llm::Trainable<double>;

const std::vector<std::int64_t> lengths{5, 70, 1, 14, 30, 60};  // two rows of 90

template <class Model>
typename Model::Ids ids_of(const Tokens& ids, std::int64_t rows) {
  return Model::Ids::from(ids, {rows, static_cast<std::int64_t>(ids.size()) / rows});
}

template <class Model>
Model make(std::uint64_t seed) {
  return llm_test::strong<Model>(seed);
}

/// The i-th document of the batch.
Tokens document(const Tokens& ids, std::size_t i) {
  std::int64_t first = 0;
  for (std::size_t j = 0; j < i; ++j) first += lengths[j];
  return {ids.begin() + first, ids.begin() + first + lengths[i]};
}

}  // namespace

TEMPLATE_TEST_CASE("What one document says leaves the others' logits bit for bit [doc_mask]", "", (Case<modern_words, Float>),
                   (Case<windowed_words, Float>), (Case<gpt2_words, Float>), (Case<modern_words, Bf16>)) {
  using Model = typename TestType::Model;
  const auto model = make<Model>(1);
  const auto documents = llm::Documents::of_lengths(lengths, 2, 90);
  const Tokens ids = llm_test::words(180, 1);
  const auto logits = model(ids_of<Model>(ids, 2), documents).to_vector();
  const auto row_bytes = static_cast<std::size_t>(Model::V) * sizeof(logits[0]);
  std::size_t first = 0;
  for (std::size_t i = 0; i < lengths.size(); first += static_cast<std::size_t>(lengths[i++])) {
    Tokens other = ids;
    const auto length = static_cast<std::size_t>(lengths[i]);
    for (std::size_t t = first; t < first + length; ++t) other[t] = (other[t] + 7) % 40;
    const auto changed = model(ids_of<Model>(other, 2), documents).to_vector();
    for (std::size_t t = 0; t < 180; ++t) {
      const bool same =
          std::memcmp(&changed[t * static_cast<std::size_t>(Model::V)], &logits[t * static_cast<std::size_t>(Model::V)], row_bytes) == 0;
      CHECK(same == (t < first || t >= first + length));
    }
  }
}

TEMPLATE_TEST_CASE("A packed document has the logits that it has alone", "", (Case<modern_words, Float>), (Case<windowed_words, Float>),
                   (Case<gpt2_words, Float>), (Case<modern_words, Double>)) {
  using Model = typename TestType::Model;
  const auto model = make<Model>(2);
  const auto check = [&](const auto& of) {
    const Tokens ids = llm_test::words(180, 2);
    const auto packed = of(ids_of<Model>(ids, 2), llm::Documents::of_lengths(lengths, 2, 90)).to_vector();
    std::size_t at = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      for (const auto expected : of(ids_of<Model>(document(ids, i), 1)).to_vector()) {
        REQUIRE(std::abs(static_cast<double>(packed[at]) - static_cast<double>(expected)) <
                2e-4 * (1 + std::abs(static_cast<double>(expected))));
        ++at;
      }
    CHECK(at == packed.size());
  };
  check(model);
  if constexpr (std::is_same_v<typename Model::T, float>) check(llm::freeze(model));
}

TEMPLATE_TEST_CASE("The gradient of packed documents is the sum of theirs", "", (Case<modern_words, Float>), (Case<modern_words, Double>),
                   (Case<windowed_words, Double>), (Case<gpt2_words, Double>)) {
  using Model = typename TestType::Model;
  auto model = make<Model>(3);
  const Tokens ids = llm_test::words(180, 3), targets = llm_test::words(180, 4);
  const auto gradients = [&] {
    std::vector<double> all;
    model.for_each_parameter([&](auto& p) {
      for (const auto g : p.tensor().grad().to_vector()) all.push_back(static_cast<double>(g));
      p.tensor().clear_grad();
    });
    return all;
  };
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    llm::Tape tape;
    tape.backward(model.loss(ids_of<Model>(document(ids, i), 1), ids_of<Model>(document(targets, i), 1), {.denominator = 180}));
  }
  const auto expected = gradients();
  const auto documents = llm::Documents::of_lengths(lengths, 2, 90);
  for (const bool recompute : {false, true}) {
    llm::Tape tape;
    tape.backward(model.loss(ids_of<Model>(ids, 2), ids_of<Model>(targets, 2),
                             {.denominator = 180, .recompute = recompute, .documents = &documents}));
    const auto packed = gradients();
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < packed.size(); ++i) {
      worst = (std::max)(worst, std::abs(packed[i] - expected[i]));
      largest = (std::max)(largest, std::abs(expected[i]));
    }
    CHECK(largest > 1e-3);
    CHECK(worst < (std::is_same_v<typename Model::T, float> ? 1e-3 : 1e-6) * largest);
  }
}

TEST_CASE("Documents end with a separator and with their row, and must fill the batch") {
  using Model = llm::LLM<modern_words>;
  const auto ids = Model::Ids::from({1, 2, 0, 3, 0, 0, 4, 5}, {2, 4});
  const auto documents = llm::Documents::ending_with(0, ids);
  CHECK(documents.count() == 5);
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i <= documents.count(); ++i) starts.push_back(documents.start(i));
  CHECK(starts == std::vector<std::int64_t>{0, 3, 4, 5, 6, 8});
  CHECK_FALSE(llm::Documents());

  const auto message = [](const std::vector<std::int64_t>& some) {
    return llm_test::message_of([&] { llm::Documents::of_lengths(some, 2, 4); });
  };
  CHECK(message({4, 4}).empty());
  CHECK(message({3, 2, 3}) == "llm::Documents: document 1 has 2 tokens, where 1 are left of its row of 4");
  CHECK(message({4, 0, 4}) == "llm::Documents: document 1 has 0 tokens, where 4 are left of its row of 4");
  CHECK(message({4, 4, 1}) == "llm::Documents: document 2 has 1 tokens, where 0 are left of its row of 4");
  CHECK(message({4, 3}) == "llm::Documents: 2 documents have 7 tokens, expected 2 rows of 4");
  const auto model = Model::random(1);
  CHECK(llm_test::message_of([&] { model(Model::Ids::zeros({4, 2}), documents); }) == "llm::Documents: of a batch [2, 4], not [4, 2]");
  auto same = documents;
  CHECK(model(ids, same).to_vector() == model(ids, documents).to_vector());
}
