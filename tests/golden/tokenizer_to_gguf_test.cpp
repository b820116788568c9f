// Tokenizers of Hugging Face's files on their way into a GGUF file and back: the same ids, and for one the very arrays that gguf-py wrote.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <span>
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
}

/// The golden tokenizer of SentencePiece's kind with a change; "</s>" and "<s>" are added tokens of it.
template <class Change>
static llm::BpeTokenizer changed_spm(const Change& change) {
  Json json = Json::parse(std::ifstream(goldens + "tok_spm/tokenizer.json"));
  const auto add = [&](const std::string& token) {
    json["added_tokens"].push_back({{"id", json["model"]["vocab"][token]}, {"content", token}, {"special", true}, {"normalized", false}});
  };
  add("<s>");
  add("</s>");
  change(json);
  return llm_test::tokenizer_of(json.dump());
}

/// The reason for which it is refused; empty when it is not.
static std::string gguf_refusal(const llm::BpeTokenizer& tokenizer) {
  try {
    llm::to_gguf(tokenizer);
    return {};
  } catch (const llm::ValueError& error) {
    return error.what();
  }
}

TEST_CASE("special tokens inside a text of SentencePiece's kind stay where they are [spm]") {
  const auto before = changed_spm([](Json&) {});
  const auto keys = llm::to_gguf(before);
  const auto after = llm::make_tokenizer(keys.view());
  for (const char* text : {"</s>hi", "<s>the beginning</s> the end", "a<s> b", "</s>", " <s>"}) {
    CAPTURE(text);
    CHECK(after.encode(text, {.add_special = false}) == before.encode(text, {.add_special = false}));
  }
}

TEST_CASE("a space before the first piece only is refused, unless there are no others [spm]") {
  const auto metaspace = [](const char* scheme) {
    return [scheme](Json& json) {
      json["normalizer"] = nullptr;
      json["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}, {"split", false}};
    };
  };
  CHECK_THAT(gguf_refusal(changed_spm(metaspace("first"))), Catch::Contains("a space before the first piece of a text only"));
  CHECK(gguf_refusal(changed_spm(metaspace("always"))).empty());
  CHECK(gguf_refusal(changed_spm(metaspace("never"))).empty());
  CHECK(gguf_refusal(changed_spm([&](Json& json) {
          metaspace("first")(json);
          json["added_tokens"] = Json::array();
        })).empty());
}

TEST_CASE("how an added token is looked for is kept or refused") {
  const auto with = [](const Json& flags, const char* normalizer = nullptr) {
    auto json = llm_test::tokenizer_json();
    if (normalizer != nullptr) json["normalizer"] = {{"type", normalizer}};
    for (const auto& [key, value] : flags.items()) json["added_tokens"][0][key] = value;
    return gguf_refusal(llm_test::tokenizer_of(json.dump()));
  };
  CHECK(with(Json::object()).empty());
  CHECK(with({{"normalized", true}}).empty());
  CHECK_THAT(with({{"lstrip", true}}), Catch::Contains("'<|end|>' takes the white space beside it"));
  CHECK_THAT(with({{"rstrip", true}}), Catch::Contains("'<|end|>' takes the white space beside it"));
  CHECK_THAT(with({{"single_word", true}}), Catch::Contains("'<|end|>' is found as a single word only"));
  CHECK_THAT(with({{"normalized", true}}, "NFC"), Catch::Contains("'<|end|>' is looked for in the normalised text"));
  const auto second = [](const char* token) {
    auto json = llm_test::tokenizer_json();
    json["added_tokens"].push_back({{"id", 262}, {"content", token}, {"normalized", true}});
    return gguf_refusal(llm_test::tokenizer_of(json.dump()));
  };
  CHECK(second("  ").empty());
  CHECK(second("|end").find("overlaps") != std::string::npos);
  CHECK(second(">>").find("overlaps") != std::string::npos);
  CHECK(second("x<").find("overlaps") != std::string::npos);
}

TEST_CASE("tens of thousands of added tokens go into a GGUF file, some looked for before the others") {
  auto json = llm_test::tokenizer_json();
  for (int i = 0; i < 70'000; ++i)
    json["added_tokens"].push_back(
        {{"id", 262 + i}, {"content", "<|s_" + std::to_string(i) + "|>"}, {"normalized", i % 50 != 0}, {"special", i % 2 == 0}});
  const auto before = llm_test::tokenizer_of(json.dump());
  const auto keys = llm::to_gguf(before);
  const auto after = llm::make_tokenizer(keys.view());
  const std::string text = "hello<|s_69999|><|s_50|>he<|s_49|><|s_70000|>";
  CHECK(after.encode(text) == before.encode(text));
}

TEST_CASE("merges that scores cannot say are refused; what no merge leads to stays out of reach [spm]") {
  const auto merges_without = [](const std::string& which) {
    return gguf_refusal(changed_spm([&](Json& json) {
      Json kept = Json::array();
      for (const Json& merge : json["model"]["merges"]) {
        const std::string text =
            merge.is_string() ? merge.get<std::string>() : merge[0].get<std::string>() + " " + merge[1].get<std::string>();
        if (text != which) kept.push_back(merge);
      }
      CHECK(kept.size() + 1 == json["model"]["merges"].size());
      json["model"]["merges"] = kept;
    }));
  };
  // A token with two merges, and one with a single merge.
  const Json golden = Json::parse(std::ifstream(goldens + "tok_spm/tokenizer.json"));
  std::map<std::string, std::vector<std::string>> merges;
  for (const Json& merge : golden["model"]["merges"]) {
    const std::string text = merge.is_string() ? merge.get<std::string>() : merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    std::string token = text;
    token.erase(token.find(' ', 1), 1);
    merges[token].push_back(text);
  }
  const auto several = std::find_if(merges.begin(), merges.end(), [](const auto& m) { return m.second.size() > 1; });
  REQUIRE(several != merges.end());
  CHECK_THAT(merges_without(several->second.front()), Catch::Contains("leave out one of two tokens"));
  // "the" as a token without a merge, beside the ids of its parts.
  const auto before = changed_spm([](Json& json) {
    json["model"]["vocab"]["tqx"] = 700;
    json["model"]["vocab"]["tq"] = 701;
  });
  const auto keys = llm::to_gguf(before);
  CHECK(keys.values.types[700] == llm::GgufVocabulary::unused);
  CHECK(llm::make_tokenizer(keys.view()).encode("tqx tq") == before.encode("tqx tq"));
}

TEST_CASE("tokens that end a text are all found again, or refused") {
  const auto ends = [](std::vector<std::string> names) {
    auto json = llm_test::tokenizer_json();
    json["added_tokens"] = Json::array();
    auto parts = [&] {
      std::int32_t id = 261;
      for (const std::string& name : names) json["added_tokens"].push_back({{"id", id++}, {"content", name}, {"special", true}});
      const std::string text = json.dump();
      return llm::parse_tokenizer_json(std::as_bytes(std::span(text)), "t.json");
    }();
    for (std::size_t i = 0; i < names.size(); ++i) parts.eos_ids.push_back(261 + static_cast<std::int32_t>(i));
    return llm::BpeTokenizer(std::move(parts));
  };
  CHECK_THAT(gguf_refusal(ends({"<a>", "<b>", "<c>", "<d>"})), Catch::Contains("'<d>' is one of 4 tokens that end a text"));
  for (const auto& tokenizer : {ends({"<a>", "<b>", "<c>"}), ends({"<a>", "<b>", "<c>", "<|im_end|>"})}) {
    const auto keys = llm::to_gguf(tokenizer);
    CHECK(llm::make_tokenizer(keys.view()).eos_ids() == tokenizer.eos_ids());
  }
}
