// Overfits the GPT-2 baseline and the modern model on one small text, side by side: loss, parameters, KV cache.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <llm/configs/train.hpp>
#include <llm/generate/generate.hpp>
#include <llm/model.hpp>
#include <llm/text/char_tokenizer.hpp>
#include <llm/train/adamw.hpp>
#include <llm/train/batches.hpp>
#include <llm/train/evaluate.hpp>
#include <llm/train/schedule.hpp>

namespace {

/// The text that both learn by heart: one window of the models' context and the token after it.
constexpr std::string_view text = "A language model reads the tokens so far and guesses the next one";
constexpr std::int64_t steps = 60, every = 10, length = 64;
static_assert(text.size() == length + 1);

/// What one architecture gave.
struct Run {
  std::string name;
  std::int64_t parameters, cache_bytes;
  std::vector<double> losses;  // at steps 0, every, 2 every, ...
  std::string continuation;
};

/// Trains LLM<C> on the text.
template <const llm::Config& C>
Run overfit(std::string name, const llm::CharTokenizer& tokenizer) {
  using Model = llm::LLM<C>;
  const std::vector<llm::Token> tokens = tokenizer.encode(text);
  Run run{std::move(name), Model::parameter_count, llm::kv_cache_bytes_per_token(C, llm::DType::bf16), {}, {}};

  auto model = Model::random(/*seed=*/1);
  llm::AdamW optimizer(model);
  const llm::WarmupCosine learning_rate{.max_lr = 3e-3, .min_lr = 3e-4, .warmup = 10, .steps = steps};
  auto batches = llm::random_windows(tokens, {.batch = 1, .length = length, .steps = steps, .seed = 2});
  const auto measure = [&] { run.losses.push_back(llm::evaluate(model, llm::sequential_windows(tokens, {.batch = 1, .length = length}))); };
  measure();
  for (const auto& batch : batches) {
    llm::Tape tape;
    const auto loss = model.loss(batch.inputs, batch.targets);
    llm::finite_loss(loss);
    tape.backward(loss);
    optimizer.step(learning_rate(batches.step()), 1.0);
    if ((batches.step() + 1) % every == 0) measure();
  }
  const llm::GenerateOptions greedy{.max_new_tokens = 54, .temperature = 0, .vocab_limit = tokenizer.vocab_size()};
  run.continuation = llm::generate_text(model, tokenizer, "A language", greedy);
  return run;
}

void print(const Run& a, const Run& b) {
  std::printf("Two architectures learn a text of %zu characters by heart.\n\n", text.size());
  std::printf("%-28s %16s %16s\n", "", a.name.c_str(), b.name.c_str());
  for (std::size_t i = 0; i < a.losses.size(); ++i)
    std::printf("loss after %4lld steps        %16.4f %16.4f\n", static_cast<long long>(i) * static_cast<long long>(every), a.losses[i],
                b.losses[i]);
  const auto row = [](const char* what, std::int64_t left, std::int64_t right) {
    std::printf("%-28s %16lld %16lld\n", what, static_cast<long long>(left), static_cast<long long>(right));
  };
  row("parameters", a.parameters, b.parameters);
  row("KV cache, bytes per token", a.cache_bytes, b.cache_bytes);
  for (const Run* run : {&a, &b}) std::printf("\n%s continues: %s\n", run->name.c_str(), run->continuation.c_str());
}

/// The text is known by heart: hardly any loss is left, and its beginning is continued as written.
bool learned(const Run& run) { return run.losses.back() < 0.05 && text.substr(0, run.continuation.size()) == run.continuation; }

}  // namespace

int main() {
  const auto tokenizer = llm::CharTokenizer::from_text(text);
  const Run gpt2 = overfit<llm::configs::gpt2_small<128>>("GPT-2", tokenizer);
  const Run modern = overfit<llm::configs::modern_small<128>>("modern", tokenizer);
  print(gpt2, modern);
  if (learned(gpt2) && learned(modern)) return 0;
  std::printf("\nNot both learned the text.\n");
  return 1;
}
