// A user's program that reads tokenizers: it must link.
#include <cstdio>

#include <llm/tokenizer.hpp>

int main(int argc, char** argv) {
  if (argc < 2) return llm::find_pre_tokenizer("gpt-2")->pre_tokenizer("two words", true).ends.size() == 2 ? 0 : 1;
  std::printf("%d ids\n", static_cast<int>(llm::Tokenizer::from_file(argv[1]).vocab_size()));
}
