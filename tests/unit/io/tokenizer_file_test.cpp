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

TEST_CASE("where there is no tokenizer, the error says what was looked for") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says(folder.path() + ": has no tokenizer.json"));
  write_file(folder / "tokenizer.model", "x");
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says("llm::SentencePieceTokenizer reads its tokenizer.model"));
  CHECK_THROWS_WITH(Tokenizer::from_file(folder / "tokenizer.model"), says("its name ends in neither .json nor .gguf"));
  CHECK_THROWS_AS(Tokenizer::from_file(folder / "none.json"), llm::FileError);
  CHECK_THROWS_AS(Tokenizer::from_file(folder / "none.gguf"), llm::FileError);
  write_file(folder / "tokenizer.json", "{}");
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says("tokenizer.json: model is missing"));
}
