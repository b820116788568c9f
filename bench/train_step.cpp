// A whole training step (forward, backward, AdamW that clips) of a small model, of GPT-2 124M and of a 502M model, in f32 and in bf16 with
// f32 master weights. Tells its FLOPs, the optimizer's bytes and the memory it took. The 502M model takes 10 GB.
#include <string>

#include "support/training.hpp"

namespace {

template <class Weights, class Work>
void add_step(const Work& work, const char* type) {
  const std::string name = std::string("step/") + work.name + "/" + type;
  bench::add(name,
             [=](bench::State& state) { bench::time_training<llm::LLM<Work::config, Weights>>(state, name, work.batch, work.length); });
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
