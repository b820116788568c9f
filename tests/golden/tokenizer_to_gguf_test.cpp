// Tokenizers of Hugging Face's files on their way into a GGUF file and back: the same ids, and for one the very arrays that gguf-py wrote.
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/text/bpe/to_gguf.hpp>
#include <llm/tokenizer.hpp>

#include <support/catch.hpp>
#include <support/tokenizer_json.hpp>

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

static const std::string goldens = LLM_TEST_DATA "/goldens/";
static llm::BpeTokenizer read(const std::string& name) {
  return llm::BpeTokenizer(llm::read_tokenizer_json(goldens + name + "/tokenizer.json"));
}

TEST_CASE("a tokenizer that went through GGUF's keys gives the golden ids [pretok] [spm]") {
  for (const char* name : {"tok_gpt2", "tok_llama3", "tok_qwen", "tok_spm"}) {
    const auto before = read(name);
    const auto keys = llm::to_gguf(before);
    const auto after = llm::make_tokenizer(keys.view());
    CHECK(after.vocab_size() == before.vocab_size());
    CHECK(after.bos_id() == before.bos_id());
    std::ifstream file(goldens + name + "/expected.json");
    const Json json = Json::parse(file);
    for (const Json& c : json.at("encode")) {
      INFO(name << ": " << c.dump());
      const std::string text = c.at("text");
      CHECK(after.encode(text) == before.encode(text));
      CHECK(after.encode(text, {.add_special = false}) == c.at(c.contains("hf_ids") ? "hf_ids" : "ids").get<Ids>());
      CHECK(after.decode(after.encode(text)) == before.decode(before.encode(text)));
    }
  }
}

TEST_CASE("the keys are those that gguf-py wrote for the same tokenizer") {
  const auto keys = llm::to_gguf(read("tok_gpt2"));
  const auto file = llm::GgufFile::open(goldens + "tiny.gguf");
  const auto written = llm::read_gguf_vocabulary(file);
  CHECK(keys.view().tokens == written.tokens);
  CHECK(keys.view().types == written.types);
  CHECK(keys.view().merges == written.merges);
  CHECK(keys.values.model == written.model);
  CHECK(keys.values.pre == written.pre);
}

TEST_CASE("each way of splitting that GGUF names is known again, and no other") {
  for (const auto& known : llm::detail::bpe::known_pre_tokenizers()) {
    const auto named = llm::find_pre_tokenizer(known.names.front());
    CHECK(llm::name_of(named->pre_tokenizer, named->normalizer, named->ignore_merges) == known.names.front());
  }
  CHECK(llm::to_gguf(read("tok_qwen")).values.pre == "qwen2");
  auto json = llm_test::tokenizer_json();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  CHECK_THROWS_WITH(llm::to_gguf(llm_test::tokenizer_of(json.dump())), Catch::Contains("GGUF has no name for the way"));
  json = llm_test::tokenizer_json();
  json["normalizer"] = {{"type", "NFKC"}};
  CHECK_THROWS_WITH(llm::to_gguf(llm_test::tokenizer_of(json.dump())), Catch::Contains("GGUF has no name for the way"));
}

TEST_CASE("what GGUF cannot say is refused; holes become padding") {
  auto json = llm_test::tokenizer_json();
  json["added_tokens"][0]["id"] = 264;
  const auto keys = llm::to_gguf(llm_test::tokenizer_of(json.dump()));
  REQUIRE(keys.tokens.size() == 265);
  CHECK(keys.tokens[261] == "[PAD261]");
  CHECK(keys.values.types[261] == llm::GgufVocabulary::unused);
  CHECK(keys.values.types[264] == llm::GgufVocabulary::control);
  json["pre_tokenizer"] = nullptr;
  CHECK_THROWS_WITH(llm::to_gguf(llm_test::tokenizer_of(json.dump())), Catch::Contains("neither byte-level nor as SentencePiece's"));
  CHECK_THROWS_WITH(llm::to_gguf(llm::make_tokenizer(llm::to_gguf(read("tok_spm")).view())), Catch::Contains("merges by scores"));
}
