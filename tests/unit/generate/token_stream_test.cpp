// The token range: which tokens, how many, why it ends, and that a wrong request leaves everything as it was.
#include <llm/model.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <string>
#include <vector>

#include <support/catch.hpp>

namespace {

inline constexpr llm::Config tiny{
    .vocab_size = 23, .d_model = 16, .n_layers = 2, .n_heads = 2, .n_kv_heads = 1, .ffn_dim = 32, .max_seq_len = 16};
using Model = llm::LLM<tiny>;
using Tokens = std::vector<llm::Token>;

static_assert(std::ranges::input_range<llm::TokenStream<llm::Session<Model>>>);
static_assert(!std::copy_constructible<llm::TokenStream<llm::Session<Model>>>);

/// The message of the llm::Error that f throws; empty when it throws none.
template <class F>
std::string error_text(const F& f) {
  try {
    f();
  } catch (const llm::Error& error) {
    return error.what();
  }
  return "";
}

/// Greedy continuation without a cache: a full forward pass for every token.
Tokens greedy(const Model& model, Tokens ids, std::size_t count) {
  while (count-- > 0) {
    const auto logits = model(Model::Ids::from(ids, {1, static_cast<std::int64_t>(ids.size())})).to_vector();
    const auto last = logits.end() - tiny.vocab_size;
    ids.push_back(static_cast<llm::Token>(std::max_element(last, logits.end()) - last));
  }
  return ids;
}

const Model& model() {
  static const Model made = Model::random(7);
  return made;
}

/// A model whose logits are written by hand: after token t comes t + 1, of 8; `bad_after` gives NaN.
struct Counting {
  static constexpr llm::Config config{.vocab_size = 8, .d_model = 2, .n_layers = 1, .n_heads = 1, .ffn_dim = 2, .max_seq_len = 32};
  static constexpr std::int64_t V = 8;
  using Ids = llm::Tensor<llm::Token, llm::Shape<llm::dyn, llm::dyn>>;
  using LastLogits = llm::Tensor<float, llm::Shape<llm::dyn, V>>;
  using Cache = llm::KvCache<config>;

  llm::Token bad_after = -1;
  mutable int passes = 0;

  LastLogits last_logits(const Ids& ids, Cache& cache, std::int64_t first_row) const {
    cache.commit(cache.plan(first_row, ids.extent(0), ids.extent(1)));
    ++passes;
    const llm::Token last = ids.to_vector().back();
    std::vector<float> logits(8, 0.0f);
    logits[static_cast<std::size_t>((last + 1) % 8)] = last == bad_after ? std::numeric_limits<float>::quiet_NaN() : 5.0f;
    return LastLogits::from(logits, {1});
  }
};

}  // namespace

TEST_CASE("Greedy tokens are those of full forward passes") {
  const Tokens prompt{3, 1, 4};
  Tokens seen = prompt;
  for (const llm::Token token : llm::generate(model(), prompt, {.max_new_tokens = 6, .temperature = 0})) seen.push_back(token);
  CHECK(seen == greedy(model(), prompt, 6));
  CHECK(llm::generate_tokens(model(), prompt, {.max_new_tokens = 6, .temperature = 0}) == seen);
}

TEST_CASE("max_new_tokens = 0 returns the prompt and computes nothing") {
  const Counting counting;
  const Tokens prompt{1, 2};
  CHECK(llm::generate_tokens(counting, prompt, {.max_new_tokens = 0}) == prompt);
  CHECK(counting.passes == 0);
  auto stream = llm::generate(model(), prompt, {.max_new_tokens = 0});
  CHECK(stream.begin() == stream.end());
  CHECK(stream.finish_reason() == llm::FinishReason::length);
}

TEST_CASE("One pass a token, the prompt in one pass") {
  const Counting counting;
  auto stream = llm::generate(counting, Tokens{0, 1, 2}, {.max_new_tokens = 3, .temperature = 0});
  CHECK(counting.passes == 0);
  stream.prefill();
  CHECK(counting.passes == 1);
  auto it = stream.begin();
  CHECK(*it == 3);
  CHECK(*stream.begin() == 3);
  CHECK(counting.passes == 1);
  CHECK(*++it == 4);
  CHECK(stream.finish_reason() == llm::FinishReason::none);
  CHECK(*++it == 5);
  CHECK(++it == stream.end());
  CHECK(counting.passes == 3);
  CHECK(stream.finish_reason() == llm::FinishReason::length);
  CHECK(stream.sequence() == Tokens{0, 1, 2, 3, 4, 5});
  CHECK(stream.prompt_size() == 3);
}

TEST_CASE("A stop token ends the range and is not part of it") {
  const Counting counting;
  auto stream = llm::generate(counting, Tokens{0}, {.temperature = 0, .stop = {.token_ids = {7, 4, 7}}});
  Tokens seen;
  for (const llm::Token token : stream) seen.push_back(token);
  CHECK(seen == Tokens{1, 2, 3});
  CHECK(stream.finish_reason() == llm::FinishReason::stop_token);
  for (const llm::Token start : {2, 5}) {  // whichever of several ids of the end comes first
    Tokens expected{start};
    while ((expected.back() + 1) % 8 != 4 && (expected.back() + 1) % 8 != 7) expected.push_back(expected.back() + 1);
    CHECK(llm::generate_tokens(counting, Tokens{start}, {.temperature = 0, .stop = {.token_ids = {7, 4}}}) == expected);
  }
  CHECK(llm::generate_tokens(counting, Tokens{3}, {.temperature = 0, .stop = {.token_ids = {4}}}) == Tokens{3});
}

TEST_CASE("as_many_as_fit fills the context") {
  CHECK(llm::generate_tokens(model(), Tokens{1, 2, 3}, {.temperature = 0}).size() == 16);
  CHECK(llm::generate_tokens(model(), Tokens(16, 1), {.temperature = 0}) == Tokens(16, 1));
}

TEST_CASE("prompt + new = max: the last position is exact; max + 1: a clean error, the cache still usable [ctx]") {
  const Tokens prompt{5, 6, 7, 8};
  const Tokens expected = greedy(model(), prompt, 12);
  CHECK(llm::generate_tokens(model(), prompt, {.max_new_tokens = 12, .temperature = 0}) == expected);

  llm::Session session(model());
  CHECK_THROWS_AS(llm::generate(session, prompt, {.max_new_tokens = 13}), llm::ShapeError);
  CHECK(session.length() == 0);
  CHECK(error_text([&] { llm::generate(model(), prompt, {.max_new_tokens = 13}); }) ==
        "llm::generate: 4 prompt + 13 new tokens exceed max_seq_len 16 (hint: at most 12 new tokens fit; raise Config::max_seq_len)");
  CHECK(llm::generate_tokens(model(), prompt, {.max_new_tokens = 13, .fit_context = true, .temperature = 0}) == expected);
  CHECK(llm::generate_tokens(model(), prompt, {.max_new_tokens = 3, .fit_context = true, .temperature = 0}).size() == prompt.size() + 3);
  auto stream = llm::generate(session, prompt, {.max_new_tokens = 12, .temperature = 0});
  for (auto it = stream.begin(); it != stream.end(); ++it) {
  }
  CHECK(stream.sequence() == expected);
  CHECK(session.length() == 15);

  // The model's last position, read on top, agrees with a full pass; one more is refused and changes nothing.
  const auto last = session.last_logits({&expected.back(), 1}).to_vector();
  const auto full = model()(Model::Ids::from(expected, {1, 16})).to_vector();
  for (std::size_t v = 0; v < last.size(); ++v) CHECK(std::abs(last[v] - full[15 * last.size() + v]) <= 1e-5f);
  CHECK_THROWS_AS(session.last_logits({&expected.back(), 1}), llm::ShapeError);
  CHECK(session.length() == 16);
  CHECK(llm::generate_tokens(session, prompt, {.max_new_tokens = 12, .temperature = 0}) == expected);
}

TEST_CASE("Wrong requests are refused before any computation [oov]") {
  const Counting counting;
  const auto refused = [&](const Tokens& prompt, const llm::GenerateOptions& options) {
    return error_text([&] { llm::generate(counting, prompt, options); });
  };
  CHECK(refused({}, {}) == "llm::generate: the prompt is empty, expected at least one token");
  CHECK(refused({1, 8}, {}) == "llm::generate: id of prompt token 1 is 8, outside the vocabulary 0 .. 7");
  CHECK(refused({-1}, {}) == "llm::generate: id of prompt token 0 is -1, outside the vocabulary 0 .. 7");
  CHECK(refused({1}, {.stop = {.token_ids = {8}}}) == "llm::generate: id of stop token 0 is 8, outside the vocabulary 0 .. 7");
  CHECK(refused({1}, {.max_new_tokens = -2}) == "llm::generate: max_new_tokens is -2, expected 0 or more, or -1 (llm::as_many_as_fit)");
  CHECK(refused({1}, {.vocab_limit = 9}) == "llm::generate: vocab_limit is 9, expected 0 (all) to vocab_size = 8");
  CHECK(refused({5}, {.vocab_limit = 5}) == "llm::generate: id of prompt token 0 is 5, outside the vocabulary 0 .. 4");
  CHECK(refused({1}, {.max_new_tokens = (std::numeric_limits<std::int64_t>::max)()}) ==
        "llm::generate: 1 prompt + 9223372036854775807 new tokens exceed max_seq_len 32 (hint: at most 31 new tokens fit; raise "
        "Config::max_seq_len)");
  CHECK(refused(Tokens(33, 1), {}) == "llm::generate: 33 prompt + 0 new tokens exceed max_seq_len 32 (hint: raise Config::max_seq_len)");
  CHECK(refused(Tokens(33, 1), {.max_new_tokens = 2, .fit_context = true}) ==
        "llm::generate: 33 prompt + 2 new tokens exceed max_seq_len 32 (hint: raise Config::max_seq_len)");
  CHECK(refused({1}, {.max_new_tokens = -2, .fit_context = true}).find("max_new_tokens is -2") != std::string::npos);
  CHECK(refused({1}, {.top_p = 2.0f}).find("top_p") != std::string::npos);
  CHECK(refused({1}, {.stop = {.strings = {"x"}}}).find("tokenizer") != std::string::npos);
  CHECK(counting.passes == 0);
}

TEST_CASE("A step that throws leaves the stream and the cache as they were [nanlogits]") {
  Counting counting;
  counting.bad_after = 3;
  llm::Session session(counting);
  auto stream = llm::generate(session, Tokens{1}, {.max_new_tokens = 4, .temperature = 0});
  auto it = stream.begin();
  CHECK(*++it == 3);
  CHECK(session.length() == 2);
  CHECK_THROWS_AS(++it, llm::NumericError);
  CHECK(session.length() == 2);
  CHECK(*it == 3);
  counting.bad_after = -1;
  CHECK(*++it == 4);
  CHECK(session.length() == 3);

  counting.bad_after = 1;
  auto fresh = llm::generate(session, Tokens{1}, {.max_new_tokens = 4, .temperature = 0});
  CHECK_THROWS_AS(fresh.begin(), llm::NumericError);
  CHECK(session.length() == 0);
  counting.bad_after = -1;
  CHECK(*fresh.begin() == 2);
}

TEST_CASE("The seed, the stream and the limit of ids choose what is drawn") {
  const Tokens prompt{1, 2};
  const auto drawn = [&](const llm::GenerateOptions& options) { return llm::generate_tokens(model(), prompt, options); };
  CHECK(drawn({.seed = 1}) == drawn({.seed = 1}));
  CHECK(drawn({.seed = 1}) != drawn({.seed = 2}));
  CHECK(drawn({.seed = 1}) != drawn({.seed = 1, .stream = 1}));
  bool above = false;
  for (const llm::Token token : drawn({.seed = 1})) above = above || token >= 4;
  CHECK(above);
  for (const llm::Token token : drawn({.seed = 1, .vocab_limit = 4})) CHECK(token < 4);
}

TEST_CASE("The repetition penalty sees the prompt and the new tokens") {
  const auto plain = llm::generate_tokens(model(), Tokens{1}, {.temperature = 0});
  const auto penalised = llm::generate_tokens(model(), Tokens{1}, {.temperature = 0, .repetition_penalty = 1e6f});
  const auto distinct = [](Tokens t) {
    std::sort(t.begin(), t.end());
    return std::unique(t.begin(), t.end()) - t.begin();
  };
  CHECK(distinct(penalised) > distinct(plain));
}

TEST_CASE("bf16 and f64 models generate") {
  using Bf16 = llm::LLM<tiny, llm::Trainable<llm::bf16>>;
  using Double = llm::LLM<tiny, llm::Trainable<double>>;
  CHECK(llm::generate_tokens(Bf16::random(7), Tokens{1, 2}, {.max_new_tokens = 5}).size() == 7);
  CHECK(llm::generate_tokens(Double::random(7), Tokens{1, 2}, {.max_new_tokens = 5, .temperature = 0}).size() == 7);
}
