// llama.cpp's library in a program as short as it gets: reads a prompt, draws tokens greedily, prints them.
// Usage: llama_generate FILE PROMPT TOKENS THREADS
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <llama.h>

namespace {

using Model = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using Context = std::unique_ptr<llama_context, decltype(&llama_free)>;

std::vector<llama_token> tokenize(const llama_vocab* vocab, const std::string& text) {
  std::vector<llama_token> out(text.size() + 8);
  const auto count = llama_tokenize(vocab, text.data(), static_cast<std::int32_t>(text.size()), out.data(),
                                    static_cast<std::int32_t>(out.size()), true, true);
  out.resize(static_cast<std::size_t>(std::max(0, count)));
  return out;
}

llama_token most_probable(llama_context* context, const llama_vocab* vocab) {
  const float* logits = llama_get_logits_ith(context, -1);
  return static_cast<llama_token>(std::max_element(logits, logits + llama_vocab_n_tokens(vocab)) - logits);
}

/// 0 when all went well.
int run(const char* file, const std::string& prompt, int count, int threads) {
  const Model model(llama_model_load_from_file(file, llama_model_default_params()), llama_model_free);
  if (!model) return 1;
  const llama_vocab* vocab = llama_model_get_vocab(model.get());
  auto tokens = tokenize(vocab, prompt);
  auto params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(tokens.size()) + static_cast<std::uint32_t>(count);
  params.n_threads = params.n_threads_batch = threads;
  const Context context(llama_init_from_model(model.get(), params), llama_free);
  if (!context) return 1;
  llama_token next = 0;
  for (int i = 0; i < count; ++i) {
    const auto batch =
        i == 0 ? llama_batch_get_one(tokens.data(), static_cast<std::int32_t>(tokens.size())) : llama_batch_get_one(&next, 1);
    if (llama_decode(context.get(), batch) != 0) return 1;
    next = most_probable(context.get(), vocab);
    if (llama_vocab_is_eog(vocab, next)) break;
    char text[256];
    const int size = llama_token_to_piece(vocab, next, text, sizeof text, 0, true);
    std::fwrite(text, 1, static_cast<std::size_t>(std::max(0, size)), stdout);
    std::fflush(stdout);
  }
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: llama_generate FILE PROMPT TOKENS THREADS\n");
    return 2;
  }
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  llama_backend_init();
  return run(argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
}
