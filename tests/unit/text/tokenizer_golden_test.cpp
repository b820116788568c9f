// Tokenizers against Hugging Face tokenizers and SentencePiece, exactly: ids, splits, special tokens, decoded text.
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/tokenizer.hpp>

#include <support/catch.hpp>

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

static std::string folder(std::string_view name) { return std::string(LLM_TEST_DATA "/goldens/") + std::string(name); }
static Json expected(std::string_view name) {
  std::ifstream file(folder(name) + "/expected.json");
  return Json::parse(file);
}

TEST_CASE("byte-level tokenizers give the ids, splits and texts of Hugging Face's [pretok]") {
  for (const char* name : {"tok_gpt2", "tok_llama3", "tok_qwen"}) {
    const auto tokenizer = llm::Tokenizer::from_file(folder(name));
    const auto* bpe = tokenizer.get_if<llm::BpeTokenizer>();
    REQUIRE(bpe != nullptr);
    const Json json = expected(name);
    REQUIRE(json.at("encode").size() == 66);
    for (const Json& c : json.at("encode")) {
      const std::string text = c.at("text");
      INFO(name << ": " << c.dump());
      const Ids ids = tokenizer.encode(text, {.add_special = false});
      CHECK(ids == c.at("ids").get<Ids>());
      CHECK(tokenizer.encode(text) == c.at("ids_with_special").get<Ids>());
      CHECK(bpe->pre_tokens(text).size() == c.at("pre").size());
      CHECK(bpe->pre_tokens(text) == c.at("pre").get<std::vector<std::string>>());
      CHECK(tokenizer.decode(ids) == c.at("decoded").get<std::string>());
      CHECK(tokenizer.decode(ids, true) == c.at("decoded_skip_special").get<std::string>());
    }
    REQUIRE(json.at("decode").size() == 118);
    for (const Json& c : json.at("decode")) {
      INFO(name << ": " << c.dump());
      CHECK(tokenizer.decode(c.at("ids").get<Ids>()) == c.at("text").get<std::string>());
    }
  }
}

TEST_CASE("SentencePiece's Hugging Face form gives the same ids, byte fallback and texts [spm]") {
  const auto tokenizer = llm::Tokenizer::from_file(folder("tok_spm"));
  const Json json = expected("tok_spm");
  REQUIRE(!json.at("encode").empty());
  for (const Json& c : json.at("encode")) {
    INFO(c.dump());
    const Ids ids = tokenizer.encode(c.at("text").get<std::string>(), {.add_special = false});
    CHECK(ids == c.at("hf_ids").get<Ids>());
    CHECK(tokenizer.decode(ids) == c.at("decoded").get<std::string>());
  }
  for (const Json& c : json.at("decode")) {
    INFO(c.dump());
    CHECK(tokenizer.decode(c.at("ids").get<Ids>()) == c.at("hf_text").get<std::string>());
  }
}

TEST_CASE("a GGUF file's own vocabulary gives the ids of the tokenizer it was made from") {
  const auto tokenizer = llm::Tokenizer::from_file(folder("tiny.gguf"));
  const Json json = expected("tok_gpt2");
  CHECK(tokenizer.vocab_size() == 500);
  CHECK(tokenizer.bos_id() == 0);
  for (const Json& c : json.at("encode")) {
    INFO(c.dump());
    const Ids ids = tokenizer.encode(c.at("text").get<std::string>());  // the file says: no BOS
    CHECK(ids == c.at("ids").get<Ids>());
    CHECK(tokenizer.decode(ids) == c.at("decoded").get<std::string>());
    CHECK(tokenizer.decode(ids, true) == c.at("decoded_skip_special").get<std::string>());
  }
  for (const Json& c : json.at("decode")) CHECK(tokenizer.decode(c.at("ids").get<Ids>()) == c.at("text").get<std::string>());
}
