// How a training step grows: time per token with the sequence length (128 to 8192) and with the number of layers (2 to 32), beside the
// FLOPs per token; and the memory of attention, which must grow with the length and not with its square.
#include <cstdint>
#include <string>

#include <llm/ops/attention.hpp>

#include "support/training.hpp"

namespace {

/// Small enough that attention soon outweighs the matrices.
constexpr llm::Config model_of(std::int64_t layers) {
  return {.vocab_size = 256,
          .d_model = 128,
          .n_layers = layers,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 32,
          .ffn_dim = 352,
          .max_seq_len = 8192,
          .norm_eps = 1e-5};
}

template <std::int64_t Layers>
inline constexpr llm::Config layers_model = model_of(Layers);

/// A step on `tokens` tokens in sequences of `length`.
template <const llm::Config& C>
void add_step(const std::string& name, std::int64_t length, std::int64_t tokens) {
  using Model = llm::LLM<C>;
  bench::add(name, [=](bench::State& state) {
    bench::time_training<Model>(state, name, tokens / length, length);
    state.counters["tokens"] = static_cast<double>(tokens);
    state.counters["accounted_bytes"] = static_cast<double>(llm::training_memory(C, {.batch = tokens / length, .length = length}).total);
  });
}

/// Forward and backward of attention alone, with the heads of the 502M model. The pool's bytes are all that it takes but for workspaces of
/// fixed size.
void add_attention(std::int64_t length) {
  using Queries = llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, 12, 128>>;
  using Keys = llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, 4, 128>>;
  bench::add("attention/" + std::to_string(length), [=](bench::State& state) {
    llm::trim_pool<llm::Cpu>();
    const std::int64_t before = llm::pool_statistics<llm::Cpu>().in_use;
    llm::reset_pool_high_water<llm::Cpu>();
    auto q = Queries::full({1, length}, 0.5);
    auto k = Keys::full({1, length}, 0.25), v = Keys::full({1, length}, 0.125);
    q.track();
    k.track();
    v.track();
    bench::time_calls(state, [&] {
      llm::Tape tape;
      const auto y = llm::attention(q, k, v);
      tape.backward(y, y);
      q.clear_grad();
      k.clear_grad();
      v.clear_grad();
    });
    state.counters["pool_bytes"] = static_cast<double>(llm::pool_statistics<llm::Cpu>().high_water - before);
  });
}

template <std::int64_t... Layers>
void add_layers() {
  (add_step<layers_model<Layers>>("layers/" + std::to_string(Layers), 256, 1024), ...);
}

void add_all() {
  bench::add_limits();
  for (std::int64_t length = 128; length <= 8192; length *= 2) add_step<layers_model<4>>("length/" + std::to_string(length), length, 8192);
  add_layers<2, 4, 8, 16, 32>();
  for (std::int64_t length = 256; length <= 8192; length *= 2) add_attention(length);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
