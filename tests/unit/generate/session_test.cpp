// Sessions: a prompt that begins as what was read is computed only where it is new, with the same tokens.
#include <llm/model.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <llm/core/rng.hpp>
#include <support/catch.hpp>
#include <support/generation.hpp>

namespace {

using llm_test::modern_words;
using llm_test::Tokens;
using Model = llm::LLM<modern_words>;

const Model& model() {
  static const Model made = llm_test::strong<Model>(21);
  return made;
}

Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

static_assert(std::movable<llm::Session<Model>> && !std::copy_constructible<llm::Session<Model>>);
static_assert(!std::constructible_from<llm::Session<Model>, Model>);  // a temporary model

TEST_CASE("A session gives the tokens of a fresh start, whatever it held") {
  llm::Session session(model());
  llm::Rng rng(5);
  Tokens text = llm_test::words(30, 1);
  for (int turn = 0; turn < 40; ++turn) {
    // Another end, a beginning of it, the same again, or something else altogether.
    const auto keep = static_cast<std::size_t>(rng.below(text.size() + 1));
    Tokens prompt = rng.below(8) == 0 ? Tokens{} : Tokens(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(keep));
    prompt = joined(prompt, llm_test::words(static_cast<std::int64_t>(rng.below(12)) + (prompt.empty() ? 1 : 0), rng.next_u64()));
    const llm::GenerateOptions options{.max_new_tokens = 8, .temperature = turn % 2 == 0 ? 0.0f : 1.0f, .seed = rng.next_u64()};
    const Tokens before(session.tokens().begin(), session.tokens().end());
    auto stream = llm::generate(session, prompt, options);
    stream.prefill();
    std::size_t common = 0;
    while (common < before.size() && common + 1 < prompt.size() && before[common] == prompt[common]) ++common;
    CHECK(stream.reused() == static_cast<std::int64_t>(common));
    for (auto it = stream.begin(); it != stream.end(); ++it) {
    }
    text = stream.sequence();
    CHECK(text == llm::generate_tokens(model(), prompt, options));
    if (text.size() > 100) text.resize(20);
  }
}

TEST_CASE("Two streams may take turns in one session") {
  llm::Session session(model());
  const Tokens a = llm_test::words(9, 1), b = joined(Tokens(a.begin(), a.begin() + 4), llm_test::words(5, 2));
  const llm::GenerateOptions options{.max_new_tokens = 6, .temperature = 0};
  auto first = llm::generate(session, a, options), second = llm::generate(session, b, options);
  auto i = first.begin();
  auto j = second.begin();
  while (i != first.end() || j != second.end()) {
    if (i != first.end()) ++i;
    if (j != second.end()) ++j;
  }
  CHECK(first.sequence() == llm::generate_tokens(model(), a, options));
  CHECK(second.sequence() == llm::generate_tokens(model(), b, options));
}

TEST_CASE("What a session held can be saved, and restored in another one for many samples") {
  const Tokens prompt = llm_test::words(40, 3);
  llm::Session session(model());
  const auto logits = session.last_logits(prompt).to_vector();
  const auto saved = session.save();
  CHECK(saved.cached.length() == 40);
  session.truncate(3);
  session.last_logits(llm_test::words(20, 9));

  llm::Session other(model(), 64);
  for (std::uint64_t stream = 0; stream < 3; ++stream) {
    other.restore(saved);
    auto sample = llm::generate(other, joined(prompt, {7}), {.max_new_tokens = 5, .stream = stream});
    for (auto it = sample.begin(); it != sample.end(); ++it) {
    }
    CHECK(sample.reused() == 40);
    CHECK(sample.sequence() == llm::generate_tokens(model(), joined(prompt, {7}), {.max_new_tokens = 5, .stream = stream}));
  }
  // The next token has the same bits after the copy as after the original.
  llm::Session again(model());
  again.last_logits(prompt);
  other.restore(saved);
  const Tokens next{5};
  CHECK(other.last_logits(next).to_vector() == again.last_logits(next).to_vector());

  llm::Session small(model(), 39);
  small.last_logits(next);
  CHECK_THROWS_AS(small.restore(saved), llm::ShapeError);
  CHECK(small.length() == 1);
  other.restore(llm::Session<Model>::Saved{});
  CHECK(other.length() == 0);
  CHECK(other.last_logits(prompt).to_vector() == logits);
}

TEST_CASE("After any error a session goes on from what it says it holds") {
  llm::Session session(model(), 24);
  const Tokens prompt = llm_test::words(10, 4);
  session.last_logits(prompt);
  CHECK_THROWS_AS(session.last_logits(Tokens{1, 99}), llm::ValueError);
  CHECK_THROWS_AS(session.last_logits(llm_test::words(15, 1)), llm::ShapeError);
  CHECK_THROWS_AS(session.truncate(11), llm::ValueError);
  CHECK_THROWS_AS(session.truncate(-1), llm::ValueError);
  CHECK(session.length() == 10);
  CHECK(
      llm_test::message_of([&] { llm::generate(session, prompt, {.max_new_tokens = 15}); }) ==
      "llm::generate: 10 prompt + 15 new tokens exceed the session's capacity 24 (hint: at most 14 new tokens fit; make a larger session)");
  const auto failing = [](std::span<float>, std::span<const llm::Token> ids) {
    if (ids.size() == 13) throw std::runtime_error("enough");
  };
  auto stream = llm::generate(session, prompt, {.temperature = 0, .logits_hook = failing});
  CHECK_THROWS_AS(
      [&] {
        for (auto token : stream) (void)token;
      }(),
      std::runtime_error);
  CHECK(session.length() == 12);
  CHECK(stream.sequence().size() == 13);
  CHECK(llm::generate_tokens(session, prompt, {.temperature = 0}) ==
        llm::generate_tokens(model(), prompt, {.max_new_tokens = 14, .temperature = 0}));
}

namespace {

inline constexpr llm::Config long_words = [] {
  llm::Config c = modern_words;
  c.max_seq_len = 800;
  return c;
}();
using LongModel = llm::LLM<long_words>;

/// What f takes of the storage pool beyond what is in use before.
template <class F>
std::int64_t peak_of(const F& f) {
  const std::int64_t before = llm::pool_statistics<llm::Cpu>().in_use;
  llm::reset_pool_high_water<llm::Cpu>();
  f();
  return llm::pool_statistics<llm::Cpu>().high_water - before;
}

}  // namespace

TEST_CASE("A long prompt takes no more memory beside the cache than a short one, and gives the same logits") {
  const auto long_model = llm_test::strong<LongModel>(4);
  const Tokens prompt = llm_test::words(3 * llm::positions_at_once - 1, 8);
  const Tokens part(prompt.begin(), prompt.begin() + llm::positions_at_once);
  LongModel::Cache cache;
  const auto at_once =
      long_model.last_logits(LongModel::Ids::from(prompt, {1, static_cast<std::int64_t>(prompt.size())}), cache).to_vector();

  llm::Session session(long_model);
  const std::int64_t least = peak_of([&] { session.last_logits(part); });
  session.truncate(0);
  std::vector<float> logits;
  CHECK(peak_of([&] { logits = session.last_logits(prompt).to_vector(); }) <= least);
  if (llm::cpu::current_isa() == llm::cpu::Isa::portable)
    for (std::size_t i = 0; i < logits.size(); ++i) CHECK(std::abs(logits[i] - at_once[i]) <= 1e-4f * (1 + std::abs(at_once[i])));
  else
    CHECK(logits == at_once);

  llm::PromptBatch batch(long_model, {.rows = 1});
  batch.add(prompt, {.max_new_tokens = 1});
  CHECK(peak_of([&] { batch.begin(); }) <= least);
}

TEST_CASE("What ends the reading of a long prompt leaves the session as it was") {
  const auto long_model = LongModel::random(4);
  llm::Session session(long_model, 600);
  session.last_logits(llm_test::words(10, 1));
  Tokens wrong = llm_test::words(580, 2);
  wrong.back() = 99;
  CHECK_THROWS_AS(session.last_logits(wrong), llm::ValueError);
  CHECK(session.length() == 10);
  CHECK(session.save().cached.length() == 10);
  CHECK(llm_test::message_of([&] { session.last_logits(llm_test::words(591, 2)); }) ==
        "llm::KvCache: 10 cached + 591 new positions exceed the capacity 600 (hint: allocate a larger cache)");
  CHECK(session.save().cached.length() == 10);
}

namespace {
inline constexpr llm::Config longer_words = [] {
  llm::Config c = modern_words;
  c.max_seq_len = 5000;
  return c;
}();
}  // namespace

TEST_CASE("A session of a long context takes memory as it is used, and gives the same bits") {
  using LongerModel = llm::LLM<longer_words>;
  const auto longer_model = llm_test::strong<LongerModel>(4);
  LongerModel::Cache whole;
  const std::int64_t each = whole.bytes() / 5000, before = llm::pool_statistics<llm::Cpu>().in_use;
  const auto held = [&] { return (llm::pool_statistics<llm::Cpu>().in_use - before) / each; };  // in positions

  llm::Session session(longer_model);
  CHECK(session.capacity() == 5000);
  CHECK((held() >= 512 && held() < 520));
  const Tokens text = llm_test::words(1100, 7);
  std::size_t at = 0;
  for (const std::size_t piece : {500u, 12u, 1u, 87u, 500u}) {
    const auto some = std::span(text).subspan(at, piece);
    const auto logits = session.last_logits(some).to_vector();
    CHECK(logits == longer_model.last_logits(LongerModel::Ids::from(some, {1, static_cast<std::int64_t>(piece)}), whole).to_vector());
    at += piece;
    CHECK((held() >= session.length() && held() < 3 * session.length() + 800));
  }
  llm::Session other(longer_model);
  other.restore(session.save());
  CHECK(other.last_logits(Tokens{3}).to_vector() == session.last_logits(Tokens{3}).to_vector());
  CHECK_THROWS_AS(session.last_logits(llm_test::words(3900, 1)), llm::ShapeError);
  CHECK(session.length() == 1101);
  CHECK((held() < 5000));
  CHECK(llm::generate_tokens(session, text, {.max_new_tokens = 3, .temperature = 0}).size() == 1103);
}

TEST_CASE("A cache grows with what its rows hold") {
  Model::Cache cache(2, 30), large(2, 100);
  for (auto* c : {&cache, &large}) {
    model().last_logits(Model::Ids::from(llm_test::words(12, 5), {1, 12}), *c, 0);
    model().last_logits(Model::Ids::from(llm_test::words(20, 6), {1, 20}), *c, 1);
  }
  cache.grow(100);
  CHECK((cache.capacity() == 100 && cache.length(0) == 12 && cache.length(1) == 20));
  cache.grow(50);
  CHECK(cache.capacity() == 100);
  const auto next = Model::Ids::from({3, 4}, {2, 1});
  CHECK(model().last_logits(next, cache).to_vector() == model().last_logits(next, large).to_vector());
  CHECK_THROWS_AS(cache.grow(161), llm::ShapeError);
  CHECK((cache.capacity() == 100 && cache.length(1) == 21));
}

TEST_CASE("Rows of a cache can be copied, saved and restored") {
  Model::Cache cache(3, 30);
  const auto prompt = llm_test::words(12, 5);
  model().last_logits(Model::Ids::from(prompt, {1, 12}), cache, 0);
  model().last_logits(Model::Ids::from(llm_test::words(20, 6), {1, 20}), cache, 2);
  cache.copy_row(0, 1, 12);
  cache.copy_row(0, 0, 12);
  CHECK(cache.length(1) == 12);
  CHECK(cache.length(2) == 20);
  const auto row = cache.save(2);
  cache.truncate(2, 0);
  cache.restore(2, row);
  const auto next = Model::Ids::from({3, 3, 3}, {3, 1});
  const auto logits = model().last_logits(next, cache).to_vector();
  for (std::size_t v = 0; v < static_cast<std::size_t>(Model::V); ++v) CHECK(logits[v] == logits[static_cast<std::size_t>(Model::V) + v]);
  Model::Cache alone(1);
  model().last_logits(Model::Ids::from(llm_test::words(20, 6), {1, 20}), alone);
  const auto expected = model().last_logits(Model::Ids::from({3}, {1, 1}), alone).to_vector();
  CHECK(std::vector<float>(logits.end() - Model::V, logits.end()) == expected);
  CHECK_THROWS_AS(cache.copy_row(0, 3, 2), llm::ShapeError);
  CHECK_THROWS_AS(cache.copy_row(0, 1, 14), llm::ValueError);
  CHECK_THROWS_AS(cache.save(-1), llm::ShapeError);
  Model::Cache small(1, 5);
  CHECK_THROWS_AS(small.restore(0, row), llm::ShapeError);
}
