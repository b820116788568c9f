// A model in training, as train_step and scaling time it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <llm/model.hpp>
#include <llm/train/adamw.hpp>

#include "benchmark.hpp"
#include "memory.hpp"
#include "models.hpp"

namespace bench {

template <class Model>
struct Training {
  Model model = Model::random(1);
  llm::AdamW<typename Model::T, llm::Cpu> optimizer{model};
  typename Model::Ids inputs, targets;

  Training(std::int64_t batch, std::int64_t length)
      : inputs(random_ids<Model>(batch, length, 0)), targets(random_ids<Model>(batch, length, 1)) {
    step();  // the first one allocates
    step();
  }

  /// Forward, backward, and AdamW, which clips.
  void step() {
    {
      llm::Tape tape;
      tape.backward(model.loss(inputs, targets));
    }
    optimizer.step(1e-4, 1.0);
  }
};

/// Bytes of the optimizer for a parameter: weight and both moments are read and written, the gradient is read twice (for the norm and for
/// the update), all in f32. With bf16 weights that is so of the master weights, and two bytes are written besides.
inline constexpr double optimizer_bytes = 32;

/// Times steps on [batch, length] tokens, and tells their FLOPs, the optimizer's bytes and the memory they take.
template <class Model>
void time_training(State& state, const std::string& name, std::int64_t batch, std::int64_t length) {
  auto& training = fixture<Training<Model>>(name, [&] { return std::make_unique<Training<Model>>(batch, length); });
  llm::reset_pool_high_water<llm::Cpu>();
  reset_resident_peak();
  time_calls(state, [&] { training.step(); });
  const auto flops = llm::flops_per_token(Model::config, (length + 1) / 2).training;
  state.counters["flops"] = static_cast<double>(flops) * static_cast<double>(batch * length);
  state.counters["optimizer_bytes"] = optimizer_bytes * static_cast<double>(Model::parameter_count);
  state.counters["parameters"] = static_cast<double>(Model::parameter_count);
  state.counters["pool_bytes"] = static_cast<double>(llm::pool_statistics<llm::Cpu>().high_water);
  state.counters["resident_bytes"] = status_bytes("VmHWM:");
}

}  // namespace bench
