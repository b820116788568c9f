// One training step of the small model (4 layers, d 128, 16 x 64 tokens, vocabulary 65), timed: forward, backward, clip, AdamW.
// Prints "train_step ours <median ms> <least ms>"; scripts/bench.sh sets it beside PyTorch's.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <llm/model.hpp>
#include <llm/train/adamw.hpp>

namespace {

inline constexpr llm::Config small{.vocab_size = 65,
                                   .d_model = 128,
                                   .n_layers = 4,
                                   .n_heads = 4,
                                   .n_kv_heads = 2,
                                   .head_dim = 32,
                                   .ffn_dim = 352,
                                   .max_seq_len = 64,
                                   .norm_eps = 1e-6,
                                   .qk_norm = true};
using Model = llm::LLM<small>;
using Clock = std::chrono::steady_clock;

}  // namespace

int main(int argc, char** argv) {
  llm::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  auto model = Model::random(1);
  llm::AdamW optimizer(model, {.weight_decay = 0.1});
  std::vector<llm::Token> inputs, targets;
  for (std::uint64_t i = 0; i < 16 * 64; ++i) {
    inputs.push_back(static_cast<llm::Token>(llm::philox(1, 0, i)[0] % 65));
    targets.push_back(static_cast<llm::Token>(llm::philox(1, 1, i)[0] % 65));
  }
  const auto x = Model::Ids::from(inputs, {16, 64}), y = Model::Ids::from(targets, {16, 64});
  std::vector<double> times;
  float loss_value = 0;
  for (int step = 0; step < 120; ++step) {
    const auto start = Clock::now();
    {
      llm::Tape tape;
      const auto loss = model.loss(x, y);
      loss_value = loss.item();
      tape.backward(loss);
    }
    optimizer.step(3e-4, 1.0);
    if (step >= 20) times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  std::printf("train_step ours %.2f %.2f\n", times[times.size() / 2], times.front());
  return loss_value > 0 ? 0 : 1;
}
