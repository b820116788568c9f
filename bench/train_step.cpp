// A whole training step (forward, backward, AdamW that clips) of a small model, of GPT-2 124M and of a 502M model, in f32 and in bf16 with
// f32 master weights. Tells its FLOPs, the optimizer's bytes and the memory it took. The 502M model takes 10 GB.
#include <cstdint>
#include <memory>
#include <string>

#include <llm/model.hpp>
#include <llm/train/adamw.hpp>

#include "support/benchmark.hpp"
#include "support/memory.hpp"
#include "support/models.hpp"

namespace {

template <class Model>
struct Training {
  Model model = Model::random(1);
  llm::AdamW<typename Model::T, llm::Cpu> optimizer{model};
  typename Model::Ids inputs, targets;

  Training(std::int64_t batch, std::int64_t length)
      : inputs(bench::random_ids<Model>(batch, length, 0)), targets(bench::random_ids<Model>(batch, length, 1)) {
    step();  // the first one allocates
    step();
  }

  void step() {
    {
      llm::Tape tape;
      tape.backward(model.loss(inputs, targets));
    }
    optimizer.step(1e-4, 1.0);
  }
};

/// Bytes of the optimizer's pass for a parameter: reads weight, gradient and both moments, writes all but the gradient, all in f32, and
/// clears that. In bf16 training the master weights are those, weight and gradient smaller: it is the same or less.
constexpr double optimizer_bytes = 32;

template <class Weights, class Work>
void add_step(const Work& work, const char* type) {
  using Model = llm::LLM<Work::config, Weights>;
  const std::string name = std::string("step/") + work.name + "/" + type;
  bench::add(name, [=](bench::State& state) {
    auto& training = bench::fixture<Training<Model>>(name, [&] { return std::make_unique<Training<Model>>(work.batch, work.length); });
    llm::reset_pool_high_water<llm::Cpu>();
    bench::reset_resident_peak();
    bench::time_calls(state, [&] { training.step(); });
    const std::int64_t tokens = work.batch * work.length;
    const auto flops = llm::flops_per_token(Work::config, (work.length + 1) / 2).training;
    state.counters["flops"] = static_cast<double>(flops) * static_cast<double>(tokens);
    state.counters["optimizer_bytes"] = optimizer_bytes * static_cast<double>(Model::parameter_count);
    state.counters["parameters"] = static_cast<double>(Model::parameter_count);
    state.counters["pool_bytes"] = static_cast<double>(llm::pool_statistics<llm::Cpu>().high_water);
    state.counters["resident_bytes"] = bench::status_bytes("VmHWM:");
  });
}

void add_all() {
  bench::add_limits();
  bench::for_each_training([](const auto& work) {
    add_step<llm::Trainable<float>>(work, "f32");
    add_step<llm::Trainable<llm::bf16>>(work, "bf16");
  });
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
