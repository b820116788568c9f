// SentencePiece's own file through its library and through our own code: both exactly as SentencePiece.
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/rng.hpp>
#include <llm/tokenizer.hpp>

#include <support/catch.hpp>

#if __has_include(<sentencepiece_processor.h>)
#include <llm/text/sentencepiece.hpp>

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

static llm::SentencePieceTokenizer library() { return llm::SentencePieceTokenizer::from_file(LLM_TEST_DATA "/goldens/tok_spm/spm.model"); }

/// The same file read by our own code.
static llm::Tokenizer own_tokenizer() { return llm::Tokenizer::from_file(LLM_TEST_DATA "/goldens/tok_spm/spm.model"); }

TEST_CASE("SentencePiece's library and our merging by its scores give the golden ids and texts [spm]") {
  const auto spm = library();
  const auto own = own_tokenizer();
  std::ifstream file(LLM_TEST_DATA "/goldens/tok_spm/expected.json");
  const Json json = Json::parse(file);
  constexpr llm::EncodeOptions text_only{.add_special = false, .parse_special = false};
  for (const Json& c : json.at("encode")) {
    INFO(c.dump());
    const std::string text = c.at("text");
    CHECK(spm.encode(text, text_only) == c.at("ids").get<Ids>());
    CHECK(own.encode(text, text_only) == c.at("ids").get<Ids>());
    CHECK(spm.decode(c.at("ids").get<Ids>()) == c.at("decoded").get<std::string>());
    CHECK(own.decode(c.at("ids").get<Ids>()) == c.at("decoded").get<std::string>());
  }
  for (const Json& c : json.at("decode")) {
    INFO(c.dump());
    CHECK(spm.decode(c.at("ids").get<Ids>()) == c.at("text").get<std::string>());
    CHECK(own.decode(c.at("ids").get<Ids>(), true) == c.at("text").get<std::string>());
  }
}

TEST_CASE("our merging by scores gives the library's ids on random texts [spm]") {
  const auto spm = library();
  const auto own = own_tokenizer();
  const std::vector<std::string> parts = {
      "the", " ", "  ", "and", "e",   "God",    "\n", "1", "23", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80", "\xE2\x96\x81", "\xC3\xA9", ".",
      "in",  "g", "er", "s",   "<s>", "<0x41>", "\t", "t", "h"};
  llm::Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::uint64_t i = rng.below(24); i > 0; --i) text += parts[rng.below(parts.size())];
    INFO(text);
    CHECK(own.encode(text, {.parse_special = false}) == spm.encode(text, {.parse_special = false}));
    CHECK(own.encode(text) == spm.encode(text));
  }
}

TEST_CASE("a SentencePiece tokenizer has one BOS, special tokens, and no control token in its text [bos] [spm]") {
  const llm::Tokenizer spm = library();
  CHECK(spm.bos_id() == 1);
  CHECK(spm.eos_ids() == Ids{2});
  CHECK(spm.encode("<s>").size() == 1);
  CHECK(spm.encode("a").front() == 1);
  CHECK(spm.encode("<s>a") == spm.encode("a"));
  CHECK(spm.token_id("</s>") == 2);
  CHECK_FALSE(spm.token_id("no such piece"));
  CHECK(spm.is_special(1));
  CHECK_FALSE(spm.is_special(3));
  CHECK(spm.decode(spm.encode("a b")) == "a b");
  CHECK_THROWS_AS(spm.decode(Ids{700}), llm::ValueError);
  CHECK_THROWS_AS(spm.decode_one(-1), llm::ValueError);
  CHECK_THROWS_AS(spm.encode("\xFF"), llm::ValueError);
  llm::DecodeStream stream(spm);
  std::string text;
  for (const auto id : spm.encode("na\xC3\xAFve \xF0\x9F\x98\x80")) text += stream.push(id);
  CHECK(text + stream.flush() == " na\xC3\xAFve \xF0\x9F\x98\x80");
}

TEST_CASE("what is no SentencePiece model is refused by name") {
  using Spm = llm::SentencePieceTokenizer;
  CHECK_THROWS_WITH(Spm::from_file("/no/such/file"), Catch::Contains("/no/such/file: cannot be read"));
  CHECK_THROWS_WITH(Spm::from_bytes("no model", "x.model"), Catch::Contains("x.model: is no SentencePiece model"));
  CHECK_THROWS_WITH(Spm::from_bytes("", "empty"), Catch::Contains("empty: is no SentencePiece model"));
}
#else
TEST_CASE("SentencePiece models (skipped: there is no sentencepiece library)") { SUCCEED(); }
#endif
