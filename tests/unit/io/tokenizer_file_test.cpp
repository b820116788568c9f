// Finding a model's tokenizer: folders, files, and what stands beside a tokenizer.json.
#include <llm/io/tokenizer_file.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <llm/tokenizer.hpp>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>
#include <support/tokenizer_json.hpp>

using llm::Tokenizer;
using llm_test::TemporaryFolder, llm_test::write_file;
using Ids = std::vector<std::int32_t>;

static auto says(const std::string& text) { return Catch::Contains(text); }

TEST_CASE("a tokenizer is found in a folder, as a tokenizer.json and in a GGUF file") {
  const std::string goldens = LLM_TEST_DATA "/goldens/";
  CHECK(Tokenizer::from_file(goldens + "tok_gpt2").vocab_size() == 500);
  CHECK(Tokenizer::from_file(goldens + "tok_gpt2/tokenizer.json").vocab_size() == 500);
  CHECK(Tokenizer::from_file(goldens + "tiny.gguf").vocab_size() == 500);
  // A model's weights by their file: the tokenizer beside them, as its config.json and generation_config.json are.
  CHECK(Tokenizer::from_file(goldens + "tok_gpt2/model.safetensors").vocab_size() == 500);
}

TEST_CASE("the files beside tokenizer.json say which tokens begin and end a text [bos]") {
  const TemporaryFolder folder;
  auto json = llm_test::tokenizer_json();
  json["added_tokens"].push_back({{"id", 262}, {"content", "<|bos|>"}, {"special", true}});
  json["added_tokens"].push_back({{"id", 263}, {"content", "<|turn|>"}, {"special", true}});
  write_file(folder / "tokenizer.json", json.dump());
  CHECK(Tokenizer::from_file(folder.path()).eos_ids().empty());

  write_file(folder / "tokenizer_config.json",
             R"({"bos_token": {"content": "<|bos|>"}, "eos_token": "<|end|>", "chat_template": "{{x}}"})");
  const auto plain = Tokenizer::from_file(folder.path());
  CHECK(plain.bos_id() == 262);
  CHECK(plain.eos_ids() == Ids{261});
  CHECK(plain.encode("hello") == Ids{259});

  write_file(folder / "config.json", R"({"eos_token_id": 261})");
  write_file(folder / "generation_config.json", R"({"eos_token_id": [263, 261, 999999]})");
  CHECK(Tokenizer::from_file(folder.path()).eos_ids() == Ids{261, 263});

  write_file(folder / "tokenizer_config.json",
             R"({"bos_token": "<|bos|>", "eos_token": "<|end|>", "add_bos_token": true, "add_eos_token": true})");
  CHECK(Tokenizer::from_file(folder.path()).encode("hello") == Ids{262, 259, 261});
  CHECK(Tokenizer::from_file(folder.path()).encode("<|bos|>hello") == Ids{262, 259, 261});
  CHECK(Tokenizer::from_file(folder / "tokenizer.json").encode("hello") == Ids{259});  // the file alone

  write_file(folder / "tokenizer_config.json", R"({"bos_token": "<|nobody|>"})");
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says("tokenizer_config.json: bos_token is '<|nobody|>', expected a token"));
  write_file(folder / "tokenizer_config.json", "{}");
  write_file(folder / "generation_config.json", R"({"eos_token_id": "x"})");
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says("generation_config.json: eos_token_id is 'x', expected an id"));
}

/// A folder with the golden SentencePiece model as its only tokenizer.
struct ModelFolder : TemporaryFolder {
  ModelFolder() { write_file(*this / "tokenizer.model", llm_test::read_file(LLM_TEST_DATA "/goldens/tok_spm/spm.model")); }
  Tokenizer tokenizer() const { return Tokenizer::from_file(path()); }
};

TEST_CASE("a folder's tokenizer.model is read where there is no tokenizer.json, with what stands beside it [bos] [spm]") {
  const ModelFolder folder;
  const Ids text = folder.tokenizer().encode("God", {.add_special = false});
  const auto with = [&](Ids before, const Ids& after = {}) {
    before.insert(before.end(), text.begin(), text.end());
    before.insert(before.end(), after.begin(), after.end());
    return before;
  };
  CHECK(folder.tokenizer().bos_id() == 1);
  CHECK(folder.tokenizer().eos_ids() == Ids{2});
  CHECK(folder.tokenizer().encode("God") == with({1}));
  write_file(folder / "tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true})");
  CHECK(folder.tokenizer().encode("God") == with({}, {2}));
  write_file(folder / "tokenizer_config.json", R"({"add_bos_token": null, "bos_token": "</s>"})");
  CHECK(folder.tokenizer().bos_id() == 2);
  write_file(folder / "generation_config.json", R"({"eos_token_id": [2, 5]})");
  CHECK(folder.tokenizer().eos_ids() == Ids{2, 5});

  // A tokenizer.json counts before it.
  write_file(folder / "tokenizer.json", llm_test::tokenizer_json().dump());
  write_file(folder / "tokenizer_config.json", "{}");
  CHECK(folder.tokenizer().vocab_size() == 262);
}

TEST_CASE("tokens that were added to a tokenizer.model are found, and cannot be spelled by a user [spm]") {
  const ModelFolder folder;
  write_file(folder / "added_tokens.json", R"({"<|turn|>": 700, "<pad>": 703})");
  const Ids turn{700};
  CHECK(folder.tokenizer().vocab_size() == 704);
  CHECK(folder.tokenizer().encode("<|turn|>", {.add_special = false}) == turn);
  CHECK(folder.tokenizer().encode("<|turn|>", {.add_special = false, .parse_special = false}).size() > 1);
  CHECK(folder.tokenizer().is_special(700));

  write_file(folder / "tokenizer_config.json", R"({"eos_token": "<|turn|>", "added_tokens_decoder": {
    "1": {"content": "<s>", "rstrip": true, "normalized": true, "special": false},
    "700": {"content": "<|turn|>", "lstrip": true, "special": true}, "701": {"content": "<word>", "special": false}}})");
  const auto both = folder.tokenizer();
  CHECK(both.vocab_size() == 702);
  CHECK(both.eos_ids() == turn);
  CHECK(both.encode("<s>  <word> <|turn|>", {.add_special = false}) == Ids{1, 701, 700});
  CHECK(both.is_special(1));
  CHECK_FALSE(both.is_special(701));
  CHECK(both.encode("<word>", {.add_special = false, .parse_special = false}) == Ids{701});
  CHECK(both.decode(Ids{701, 700}, true) == "<word>");

  const auto refused = [&](const std::string& added, const std::string& reason) {
    write_file(folder / "tokenizer_config.json", R"({"added_tokens_decoder": )" + added + "}");
    INFO(added);
    CHECK_THROWS_AS(folder.tokenizer(), llm::FileError);
    CHECK_THROWS_WITH(folder.tokenizer(), says(reason));
  };
  refused("[]", "tokenizer_config.json: added_tokens_decoder is an array, expected an object");
  refused(R"({"x": {"content": "a"}})", "added_tokens_decoder.x: is no id");
  refused(R"({"-1": {"content": "a"}})", "added_tokens_decoder.-1: is no id");
  refused(R"({"99999999999": {"content": "a"}})", "is no id");
  refused(R"({"600000": {"content": "a"}})", "added_tokens_decoder.600000: the id is not below 320000");
  refused(R"({"700": {"special": true}})", "added_tokens_decoder.700: the token has no content");
  refused(R"({"700": {"content": 1}})", "added_tokens_decoder.700.content is 1, expected a string");
  refused(R"({"700": {"content": "a", "lstrip": 1}})", "added_tokens_decoder.700.lstrip is 1, expected true or false");
  refused(R"({"700": "a"})", "added_tokens_decoder.700 is 'a', expected an object");
  refused(R"({"300": {"content": "<no such piece>"}})", "tokenizer_config.json: added_tokens_decoder.300: the id is that of '");
  write_file(folder / "tokenizer_config.json", "{}");
  write_file(folder / "added_tokens.json", R"({"a": -1})");
  CHECK_THROWS_WITH(folder.tokenizer(), says("added_tokens.json: a is -1, expected an integer"));
}

TEST_CASE("where there is no tokenizer, the error says what was looked for") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says(folder.path() + ": has neither tokenizer.json nor tokenizer.model"));
  write_file(folder / "tokenizer.model", "x");
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says("tokenizer.model: no SentencePiece model"));
  CHECK_THROWS_WITH(Tokenizer::from_file(folder / "tokenizer.model"), says("tokenizer.model: no SentencePiece model"));
  CHECK_THROWS_WITH(Tokenizer::from_file(folder / "tokenizer.txt"), says("its name ends in none of .json, .model, .gguf and .safetensors"));
  CHECK_THROWS_AS(Tokenizer::from_file(folder / "none.json"), llm::FileError);
  CHECK_THROWS_AS(Tokenizer::from_file(folder / "none.gguf"), llm::FileError);
  write_file(folder / "tokenizer.json", "{}");
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says("tokenizer.json: model is missing"));
}
