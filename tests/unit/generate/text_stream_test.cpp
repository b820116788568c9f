// The text range: pieces of whole characters, stop strings never shown, and the same text however it is drawn.
#include <llm/model.hpp>
#include <llm/text.hpp>

#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>

namespace {

/// A model that recites: whatever the prompt, the tokens of `script` in turn, by the position in the cache.
struct Reciting {
  static constexpr llm::Config config{.vocab_size = 256, .d_model = 2, .n_layers = 1, .n_heads = 1, .ffn_dim = 2, .max_seq_len = 64};
  static constexpr std::int64_t V = 256;
  using Ids = llm::Tensor<llm::Token, llm::Shape<llm::dyn, llm::dyn>>;
  using LastLogits = llm::Tensor<float, llm::Shape<llm::dyn, V>>;
  using Cache = llm::KvCache<config>;

  std::string script;
  mutable int passes = 0;

  LastLogits last_logits(const Ids& ids, Cache& cache, std::int64_t first_row) const {
    cache.commit(cache.plan(first_row, ids.extent(0), ids.extent(1)));
    ++passes;
    std::vector<float> logits(256, 0.0f);
    logits[static_cast<unsigned char>(script.at(static_cast<std::size_t>(cache.length()) - 1))] = 9.0f;
    return LastLogits::from(logits, {1});
  }
};

/// Every byte is a token, so that characters are cut into tokens.
struct Bytes {
  std::int64_t vocab_size() const { return 256; }
  std::vector<llm::Token> encode(std::string_view text) const {
    std::vector<llm::Token> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  std::string decode_one(llm::Token id) const { return std::string(1, static_cast<char>(static_cast<unsigned char>(id))); }
};

/// One that puts an end behind a text, as some models' files ask.
struct EndedBytes : Bytes {
  std::vector<llm::Token> encode(std::string_view text, const llm::EncodeOptions& options = {}) const {
    auto ids = Bytes::encode(text);
    if (options.add_special && !options.open) ids.push_back(0);
    return ids;
  }
};

static_assert(std::ranges::input_range<llm::TextStream<llm::Session<Reciting>, Bytes>>);
static_assert(llm::TextTokenizer<llm::CharTokenizer>);
static_assert(llm::TextTokenizer<llm::Tokenizer>);

std::vector<std::string> pieces(llm::TextStream<llm::Session<Reciting>, Bytes> stream) {
  std::vector<std::string> out;
  for (const auto piece : stream) out.emplace_back(piece);
  return out;
}
using Pieces = std::vector<std::string>;

}  // namespace

TEST_CASE("Characters cut into tokens come out whole [stream]") {
  const Reciting model{"a\xE4\xB8\xAD\xF0\x9F\x98\x80z"};
  CHECK(pieces(llm::generate(model, Bytes(), "p", {.max_new_tokens = 9, .temperature = 0})) ==
        Pieces{"a", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80", "z"});
  CHECK(llm::generate_text(model, Bytes(), "p", {.max_new_tokens = 9, .temperature = 0}) == "pa\xE4\xB8\xAD\xF0\x9F\x98\x80z");
}

TEST_CASE("A prompt is a text that goes on: nothing ends it [bos]") {
  const Reciting model{"abcdef"};
  auto stream = llm::generate(model, EndedBytes(), "xy", {.max_new_tokens = 2, .temperature = 0});
  std::string seen;
  for (const auto piece : stream) seen += piece;
  CHECK(stream.tokens().prompt_size() == 2);
  CHECK(seen == "bc");
}

TEST_CASE("What is no text becomes U+FFFD, also a character that the token limit cuts [stream]") {
  const Reciting model{"a\xFF\xE4\xB8\xAD"};
  const std::string wrong(llm::replacement_utf8);
  CHECK(pieces(llm::generate(model, Bytes(), "p", {.max_new_tokens = 4, .temperature = 0})) == Pieces{"a", wrong, wrong});
}

TEST_CASE("A stop string is not shown, nor any beginning of it") {
  const Reciting model{"one\n\ntwo"};
  auto stream = llm::generate(model, Bytes(), "p", {.max_new_tokens = 8, .temperature = 0, .stop = {.strings = {"\n\n", "e\nx"}}});
  std::string seen;
  for (const auto piece : stream) {
    CHECK(!piece.empty());
    seen += piece;
  }
  CHECK(seen == "one");
  CHECK(stream.finish_reason() == llm::FinishReason::stop_string);
  CHECK(model.passes == 5);
  CHECK(stream.begin() == stream.end());
  CHECK(model.passes == 5);
}

TEST_CASE("What was held back for a stop string is shown when the text ends without it") {
  const Reciting model{"abcSTO"};
  auto stream = llm::generate(model, Bytes(), "p", {.max_new_tokens = 6, .temperature = 0, .stop = {.strings = {"STOP"}}});
  Pieces seen;
  for (const auto piece : stream) seen.emplace_back(piece);
  CHECK(seen == Pieces{"a", "b", "c", "STO"});
  CHECK(stream.finish_reason() == llm::FinishReason::length);
}

TEST_CASE("A stop token ends the text and what was held back is shown") {
  const Reciting model{"ab\ncd"};
  CHECK(llm::generate_text(model, Bytes(), "p", {.temperature = 0, .stop = {.token_ids = {'c'}, .strings = {"\nx"}}}) == "pab\n");
}

TEST_CASE("Prefill draws the first token and shows nothing") {
  const Reciting model{"abc"};
  const Bytes tokenizer;
  auto stream = llm::generate(model, tokenizer, "p", {.max_new_tokens = 3, .temperature = 0});
  stream.prefill();
  CHECK(model.passes == 1);
  CHECK(*stream.begin() == "a");
  CHECK(model.passes == 1);
  CHECK(stream.tokens().sequence() == std::vector<llm::Token>{'p', 'a'});
}

TEST_CASE("No new tokens: no text, and the prompt from generate_text") {
  const Reciting model{"abc"};
  CHECK(pieces(llm::generate(model, Bytes(), "p", {.max_new_tokens = 0})).empty());
  CHECK(llm::generate_text(model, Bytes(), "p", {.max_new_tokens = 0}) == "p");
  CHECK(model.passes == 0);
  CHECK_THROWS_AS(llm::generate(model, Bytes(), ""), llm::ShapeError);
}

TEST_CASE("The next turn in a session computes what is new in its text") {
  const Reciting model{"abcdefgh"};
  llm::Session session(model);
  const Bytes tokenizer;
  std::string text = "pq";
  for (const auto piece : llm::generate(session, tokenizer, text, {.max_new_tokens = 2, .temperature = 0})) text += piece;
  CHECK(text == "pqbc");
  CHECK(session.length() == 3);
  text += "r";
  auto turn = llm::generate(session, tokenizer, text, {.max_new_tokens = 2, .temperature = 0});
  for (const auto piece : turn) text += piece;
  CHECK(text == "pqbcref");
  CHECK(turn.tokens().reused() == 3);
}

TEST_CASE("Only ids that the tokenizer has are drawn") {
  static constexpr llm::Config config{.vocab_size = 64, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 256};
  const auto model = llm::LLM<config>::random(1);
  const auto tokenizer = llm::CharTokenizer::from_text("abc\xE4\xB8\xAD");
  const std::string text = llm::generate_text(model, tokenizer, "a", {.seed = 5});  // 255 draws, nearly uniform over 64 ids
  CHECK(tokenizer.encode(text).size() == 256);
}
