// A SentencePiece model read by our own code, against SentencePiece's own ids and texts, exactly; and on its way into a GGUF file and back.
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/tokenizer.hpp>

#include <support/catch.hpp>

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

static const std::string folder = LLM_TEST_DATA "/goldens/tok_spm/";
static Json expected() {
  std::ifstream file(folder + "expected.json");
  return Json::parse(file);
}

TEST_CASE("a SentencePiece model gives the ids and texts of SentencePiece, without its library [spm]") {
  const auto tokenizer = llm::Tokenizer::from_file(folder + "spm.model");
  const auto json = expected();
  REQUIRE(json.at("encode").size() == 66);
  CHECK(tokenizer.vocab_size() == 700);
  for (const Json& c : json.at("encode")) {
    INFO(c.dump());
    const Ids ids = c.at("ids").get<Ids>();
    CHECK(tokenizer.encode(c.at("text").get<std::string>(), {.add_special = false, .parse_special = false}) == ids);
    CHECK(tokenizer.decode(ids) == c.at("decoded").get<std::string>());
  }
  for (const Json& c : json.at("decode")) {
    INFO(c.dump());
    CHECK(tokenizer.decode(c.at("ids").get<Ids>(), true) == c.at("text").get<std::string>());
  }
}

TEST_CASE("a tokenizer that merges by scores goes into a GGUF file and back [spm]") {
  const llm::BpeTokenizer before(llm::read_sentencepiece(folder + "spm.model"));
  llm::GgufMetadata metadata;
  llm::set_gguf_tokenizer(metadata, before, 704);
  const auto keys = llm::to_gguf(before);
  const auto after = llm::make_tokenizer(keys.view());
  CHECK(after.vocab_size() == 700);
  CHECK(after.bos_id() == 1);
  CHECK(after.eos_ids() == Ids{2});
  CHECK(keys.values.unknown_id == 0);
  CHECK(keys.values.types[0] == llm::GgufVocabulary::unknown);
  CHECK(keys.values.types[1] == llm::GgufVocabulary::control);
  CHECK(keys.values.types[3] == llm::GgufVocabulary::byte);
  CHECK(keys.values.types[699] == llm::GgufVocabulary::normal);
  const Json json = expected();
  for (const Json& c : json.at("encode")) {
    INFO(c.dump());
    const std::string text = c.at("text");
    CHECK(after.encode(text) == before.encode(text));
    CHECK(after.encode(text, {.add_special = false, .parse_special = false}) == c.at("ids").get<Ids>());
    CHECK(after.decode(after.encode(text)) == before.decode(before.encode(text)));
  }
}
