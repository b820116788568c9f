// SmolLM2's tokenizer from its GGUF file: the ids of llama.cpp and of Hugging Face tokenizers.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/tokenizer.hpp>

#include <support/catch.hpp>

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

/// False, with a message, when the model could not be fetched.
static bool has_model() {
  if (std::ifstream(LLM_TEST_REAL_MODEL).good()) return true;
  std::puts("skipped: there is no " LLM_TEST_REAL_MODEL);
  return false;
}

TEST_CASE("SmolLM2's prompts have the ids that llama.cpp gives") {
  if (!has_model()) return;
  const auto tokenizer = llm::Tokenizer::from_file(LLM_TEST_REAL_MODEL);
  CHECK(tokenizer.vocab_size() == 49152);
  CHECK(tokenizer.encode("The capital of France is") == Ids{504, 3575, 282, 4649, 314});
  CHECK(tokenizer.encode("Once upon a time") == Ids{6403, 1980, 253, 655});
  CHECK(tokenizer.encode("  \xE4\xBD\xA0\xE5\xA5\xBD\xEF\xBC\x8C\xE4\xB8\x96\xE7\x95\x8C \xE2\x80\x94 42+1=") ==
        Ids{216, 216, 18645, 250, 48392, 138, 12831, 7906, 240, 178, 239, 230, 1841, 216, 36, 34, 27, 33, 45});
}

TEST_CASE("SmolLM2's special tokens are what its file says [bos]") {
  if (!has_model()) return;
  const auto tokenizer = llm::Tokenizer::from_file(LLM_TEST_REAL_MODEL);
  CHECK(tokenizer.bos_id() == 1);
  CHECK(tokenizer.encode("a").size() == 1);  // the file says that no BOS is added
  CHECK(tokenizer.eos_ids().front() == 2);
  CHECK(tokenizer.token_id("<|im_end|>") == 2);
  CHECK(tokenizer.is_special(2));
  CHECK(tokenizer.encode("<|im_start|>user\nhi<|im_end|>\n") == Ids{1, 4093, 198, 6004, 2, 198});
}

TEST_CASE("SmolLM2's ids of the fixed texts are those of Hugging Face tokenizers [pretok]") {
  if (!has_model()) return;
  const auto tokenizer = llm::Tokenizer::from_file(LLM_TEST_REAL_MODEL);
  std::ifstream file(LLM_TEST_DATA "/goldens/smollm2_ids.json");
  const Json json = Json::parse(file);
  REQUIRE(json.size() == 66);
  for (const Json& c : json) {
    INFO(c.dump());
    const Ids ids = c.at("ids");
    CHECK(tokenizer.encode(c.at("text").get<std::string>()) == ids);
    CHECK(tokenizer.decode(ids) == c.at("decoded").get<std::string>());
  }
}

TEST_CASE("SmolLM2's tokenizer would be written as its file has it") {
  if (!has_model()) return;
  const auto file = llm::GgufFile::open(LLM_TEST_REAL_MODEL);
  const auto read = llm::read_gguf_vocabulary(file);
  const auto keys = llm::to_gguf(llm::read_gguf_tokenizer(file));
  const auto written = keys.view();
  CHECK(written.tokens == read.tokens);
  CHECK(written.types == read.types);
  CHECK(written.merges == read.merges);
  CHECK(written.model == "gpt2");
  CHECK(written.pre == "smollm");
  CHECK(written.bos_id == 1);
  CHECK(written.add_bos == false);
}
