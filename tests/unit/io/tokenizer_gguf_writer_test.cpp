// Tokenizers in GGUF files that are written: the same ids after a round trip.
#include <string>
#include <vector>

#include <llm/io/gguf.hpp>
#include <llm/tokenizer.hpp>
#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

using llm::BpeTokenizer;
using llm_test::TemporaryFolder;

namespace {

const std::vector<std::string> texts{"",
                                     " ",
                                     "Hello, world! 42+1=43",
                                     "na\xC3\xAFve caf\xC3\xA9 \xE4\xB8\x96\xE7\x95\x8C\n\n\tx",
                                     "In the beginning God created the heaven and the earth.",
                                     "<|im_start|>user\nhi<|im_end|>",
                                     "\xF0\x9F\x99\x82  y"};

/// The tokenizer as it comes back from a file with so many embeddings.
BpeTokenizer through_file(const BpeTokenizer& tokenizer, std::int64_t vocab_size) {
  const TemporaryFolder folder;
  llm::GgufMetadata metadata;
  llm::set_gguf_tokenizer(metadata, tokenizer, vocab_size);
  llm::GgufWriter(folder / "t.gguf", metadata, {}).commit();
  const auto file = llm::GgufFile::open(folder / "t.gguf");
  CHECK(file.find_metadata("tokenizer.ggml.tokens")->array()->size() == vocab_size);
  return llm::read_gguf_tokenizer(file);
}

}  // namespace

TEST_CASE("tokenizers written to a GGUF file give the same ids, also with embeddings to spare") {
  for (const char* name : {"tok_gpt2", "tok_llama3", "tok_qwen", "tok_spm"}) {
    const auto tokenizer = llm::load_tokenizer(LLM_TEST_DATA "/goldens/" + std::string(name));
    const auto& original = *tokenizer.get_if<BpeTokenizer>();
    for (const std::int64_t spare : {0, 24}) {
      const BpeTokenizer again = through_file(original, tokenizer.vocab_size() + spare);
      for (const std::string& text : texts) {
        INFO(name << ": " << text);
        CHECK(again.encode(text) == original.encode(text));
        CHECK(again.decode(original.encode(text)) == original.decode(original.encode(text)));
      }
      CHECK(again.bos_id() == original.bos_id());
    }
  }
}

TEST_CASE("a model with fewer embeddings than the tokenizer has ids is refused") {
  const auto tokenizer = llm::load_tokenizer(LLM_TEST_DATA "/goldens/tok_gpt2");
  llm::GgufMetadata metadata;
  CHECK_THROWS_WITH(llm::set_gguf_tokenizer(metadata, *tokenizer.get_if<BpeTokenizer>(), 499),
                    Catch::Contains("500 ids") && Catch::Contains("499 embeddings"));
}
