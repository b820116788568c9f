// Finding a model's tokenizer: folders, files, and what stands beside a tokenizer.json.
#include <llm/io/tokenizer_file.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <llm/io/chat_file.hpp>
#include <llm/tokenizer.hpp>

#include <support/catch.hpp>
#include <support/large_vocabulary.hpp>
#include <support/protobuf.hpp>
#include <support/resident_memory.hpp>
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
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()),
                    says(folder.path() + ": has no tokenizer: there is none of tokenizer.json, tokenizer.model in "));
  write_file(folder / "tokenizer.model", "x");
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says("tokenizer.model: no SentencePiece model"));
  CHECK_THROWS_WITH(Tokenizer::from_file(folder / "tokenizer.model"), says("tokenizer.model: no SentencePiece model"));
  CHECK_THROWS_WITH(Tokenizer::from_file(folder / "none"), says("none: there is no such file or folder"));
  write_file(folder / "tokenizer.txt", "x");
  CHECK_THROWS_WITH(Tokenizer::from_file(folder / "tokenizer.txt"),
                    says("its name ends in none of .json, .model, .bin, .gguf and .safetensors"));
  CHECK_THROWS_AS(Tokenizer::from_file(folder / "none.json"), llm::FileError);
  CHECK_THROWS_AS(Tokenizer::from_file(folder / "none.gguf"), llm::FileError);
  write_file(folder / "tokenizer.json", "{}");
  CHECK_THROWS_WITH(Tokenizer::from_file(folder.path()), says("tokenizer.json: model is missing"));
}

TEST_CASE("the tokenizer of a model's file is the one in its folder, with what stands beside it") {
  const TemporaryFolder folder;
  const std::string model = folder / "model.safetensors";
  CHECK_FALSE(llm::find_tokenizer(model));
  CHECK_THROWS_WITH(Tokenizer::from_file(model), says(model + ": has no tokenizer: there is none of tokenizer.json, tokenizer.model in "));
  write_file(folder / "tokenizer.json", llm_test::tokenizer_json().dump());
  write_file(folder / "tokenizer_config.json", R"({"eos_token": "<|end|>"})");
  CHECK(llm::find_tokenizer(model) == folder / "tokenizer.json");
  for (const std::string& path : {model, folder / "model-00001-of-00002.safetensors", folder / "config.json"})
    CHECK(Tokenizer::from_file(path).eos_ids() == Ids{261});
  CHECK(Tokenizer::from_file(folder / "tokenizer.json").eos_ids().empty());
}

namespace {
/// Entries of added_tokens_decoder from `begin` on, one a line.
std::string decoder_entries(int begin, int count) {
  std::string text;
  for (int i = begin; i < begin + count; ++i) {
    text += (i > begin ? ",\n\"" : "\"") + std::to_string(i) + R"(": {"content": "<|s_)" + std::to_string(i);
    text += R"(|>", "lstrip": false, "normalized": false, "rstrip": false, "single_word": false, "special": true})";
  }
  return text;
}
}  // namespace

TEST_CASE("tens of thousands of tokens are added to a tokenizer.model, in any order") {
  const ModelFolder folder;
  write_file(folder / "tokenizer_config.json", R"({"added_tokens_decoder": {)" + decoder_entries(40'000, 30'000) + "," +
                                                   decoder_entries(700, 39'300) + R"(}, "eos_token": "<|s_69999|>"})");
  const Tokenizer tokenizer = folder.tokenizer();
  CHECK(tokenizer.vocab_size() == 70'000);
  CHECK(tokenizer.eos_ids() == Ids{69'999});
  CHECK(tokenizer.encode("<|s_700|><|s_65000|>", {.add_special = false}) == Ids{700, 65'000});
  std::string flat = "{";
  for (int i = 700; i < 70'000; ++i) flat += (i > 700 ? ", \"<|s_" : "\"<|s_") + std::to_string(i) + "|>\": " + std::to_string(i);
  write_file(folder / "tokenizer_config.json", "{}");
  write_file(folder / "added_tokens.json", flat + "}");
  CHECK(folder.tokenizer().encode("<|s_700|><|s_65000|>", {.add_special = false}) == Ids{700, 65'000});
}

TEST_CASE("a tokenizer_config.json that repeats tens of thousands of tokens is read beside a tokenizer.json") {
  const TemporaryFolder folder;
  write_file(folder / "tokenizer.json", llm_test::tokenizer_json().dump());
  std::string special = R"("additional_special_tokens": [)";
  for (int i = 0; i < 70'000; ++i) special += (i > 0 ? ", \"<|s_" : "\"<|s_") + std::to_string(i) + "|>\"";
  write_file(folder / "tokenizer_config.json", R"({"added_tokens_decoder": {)" + decoder_entries(0, 70'000) + "}, " + special +
                                                   R"(], "chat_template": "{{ 'x' }}", "eos_token": "<|end|>"})");
  CHECK(Tokenizer::from_file(folder.path()).eos_ids() == Ids{261});
  CHECK(llm::read_chat_template(folder.path()) == "{{ 'x' }}");
}

#ifdef LLM_TEST_MEASURES_MEMORY
TEST_CASE("refusing what stands beside a tokenizer as large as may be takes less than 16 MiB of memory [st_alloc]") {
  const TemporaryFolder folder;
  using namespace llm_test;
  const std::vector<std::string> tokens = most_tokens(/*large=*/true);
  std::string model = bytes_field(1, bytes_field(1, "<unk>") + integer_field(3, 2)), config = R"({"added_tokens_decoder": {)";
  for (std::size_t id = 1; id < tokens.size(); ++id) {
    model += bytes_field(1, bytes_field(1, tokens[id]) + float_field(2, 0));
    if (id >= llm::AddedTokenList::max_count) continue;  // <unk> is one, too
    config += (id > 1 ? ",\"" : "\"") + std::to_string(id) + R"(": {"content": ")" + tokens[id] + R"(", "special": true})";
  }
  model += bytes_field(2, integer_field(3, 2)) + bytes_field(3, integer_field(4, 0));
  const auto cheap = [&](const char* reason) {
    CAPTURE(reason);
    CHECK(refusal_is_cheap([&] { Tokenizer::from_file(folder.path()); }, reason));
  };
  write_file(folder / "tokenizer.model", model);
  write_file(folder / "tokenizer_config.json", config + R"(}, "bos_token": "?"})");
  cheap("bos_token is '?', expected a token");
  write_file(folder / "tokenizer_config.json", config + R"(, "x": {}}})");
  cheap("added_tokens_decoder.x: is no id");
  write_file(folder / "tokenizer_config.json", "{}");
  write_file(folder / "added_tokens.json", R"({"a": 319999})");
  cheap("added_tokens.json: a: the id is that of");
  write_file(folder / "tokenizer.model", model + bytes_field(1, bytes_field(1, tokens.back())));
  cheap("has 320001 pieces, the limit is 320000");
  model.resize(model.size() - tokens.back().size() - 40);
  write_file(folder / "tokenizer.model", model);
  cheap("no SentencePiece model");

  // A good tokenizer.json whose tables are large, and a bad file beside it.
  std::string vocabulary, merges;
  for (std::size_t id = 0; id < tokens.size(); ++id) vocabulary += (id > 0 ? ",\"" : "\"") + tokens[id] + "\":" + std::to_string(id);
  for (std::size_t i = 0; i < 200'000; ++i) merges += (i > 0 ? ",\"a" : "\"a") + std::string(" b\"");
  write_file(folder / "tokenizer.json",
             R"({"decoder": {"type": "Fuse"}, "model": {"vocab": {)" + vocabulary + R"(}, "merges": [)" + merges + "]}}");
  write_file(folder / "tokenizer_config.json", R"({"bos_token": "?"})");
  cheap("bos_token is '?', expected a token");
}
#endif
