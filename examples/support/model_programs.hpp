// What the programs generate, chat and perplexity do with a model. It is compiled once for all three: the readers, tokenizers and kernels
// that a model needs take a compiler most of a minute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <llm/generate/options.hpp>

namespace examples {

struct GenerateJob {
  std::string model, tokenizer, prompt;  // without a tokenizer, the model's own
  llm::GenerateOptions options;
  int threads = 0;  // 0: all cores
};
/// Continues the prompt on standard output and prints on stderr how fast it was. The model is a published one, or one that train saved.
void run(const GenerateJob& job);

struct ChatJob {
  std::string model, tokenizer, chat_template, system;
  std::vector<std::string> variables;  // of the template: NAME=VALUE
  llm::GenerateOptions options;
  std::int64_t context = 2048;
  bool timings = false;
  int threads = 0;
};
/// Talks with a published model until the input ends. Whether every turn had an answer.
bool run(const ChatJob& job);

struct PerplexityJob {
  std::string model, tokenizer, text;
  std::int64_t context = 0, stride = 0, most = 0;  // 0: 512 or max_seq_len, half the context, all tokens
  bool separate = false, special = false;
  int threads = 0;
};
/// Measures how well a published model predicts the text, and prints it.
void run(const PerplexityJob& job);

}  // namespace examples
