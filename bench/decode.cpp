// Inference: decoding one token for 1, 2, 4 and 8 sequences behind 128 others, beside the time to read weights and cache once; and
// prefill of a long prompt, beside the multiply-add peak. In f32 and bf16.
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <llm/model.hpp>

#include "support/benchmark.hpp"
#include "support/models.hpp"

namespace {

/// A batch of sequences that a model continues by one token, again and again.
template <class Model>
struct Sequences {
  const Model& model;
  std::int64_t context;
  typename Model::Cache cache;
  typename Model::Ids next;

  Sequences(const Model& of, std::int64_t batch, std::int64_t context_tokens)
      : model(of), context(context_tokens), cache(batch, context + 1), next(bench::random_ids<Model>(batch, 1, 1)) {
    model.last_logits(bench::random_ids<Model>(batch, context, 0), cache);
    step();
  }

  void step() {
    for (std::int64_t row = 0; row < cache.batch(); ++row) cache.truncate(row, context);
    benchmark::DoNotOptimize(model.last_logits(next, cache));
  }
};

/// A model, made once for all batches: that takes longer than to time them.
template <class Model>
struct Decoding {
  Model model = Model::random(1);
  std::map<std::int64_t, Sequences<Model>> batches;

  Sequences<Model>& sequences(std::int64_t batch, std::int64_t context) {
    return batches.try_emplace(batch, model, batch, context).first->second;
  }
};

template <class Weights, class Work>
void add_decode(const Work& work, llm::DType type, std::int64_t batch) {
  using Model = llm::LLM<Work::config, Weights>;
  const std::string name = std::string("decode/") + work.name + "/" + std::string(to_string(type));
  bench::add(name + "/batch:" + std::to_string(batch), [=](bench::State& state) {
    auto& decoding = bench::fixture<Decoding<Model>>(name, [] { return std::make_unique<Decoding<Model>>(); });
    auto& sequences = decoding.sequences(batch, work.context);
    bench::time_calls(state, [&] { sequences.step(); });
    const llm::DecodeStep step{.weights = type, .cache_type = type, .context = work.context + 1, .batch = batch};
    state.counters["bytes"] = static_cast<double>(llm::decode_reads(Work::config, step).total);
    state.counters["tokens/s"] = bench::rate(static_cast<double>(batch));
  });
}

template <class Model>
struct Prefill {
  Model model = Model::random(1);
  typename Model::Cache cache;
  typename Model::Ids prompt;

  explicit Prefill(std::int64_t length) : cache(1, length), prompt(bench::random_ids<Model>(1, length, 0)) { run(); }

  void run() {
    cache.reset();
    benchmark::DoNotOptimize(model.last_logits(prompt, cache));
  }
};

template <class Weights, class Work>
void add_prefill(const Work& work, llm::DType type) {
  using Model = llm::LLM<Work::config, Weights>;
  const std::string name = std::string("prefill/") + work.name + "/" + std::string(to_string(type));
  bench::add(name, [=](bench::State& state) {
    auto& prefill = bench::fixture<Prefill<Model>>(name, [&] { return std::make_unique<Prefill<Model>>(work.prompt); });
    bench::time_calls(state, [&] { prefill.run(); });
    // The head runs for the last position alone.
    const auto flops = llm::flops_per_token(Work::config, (work.prompt + 1) / 2).forward - 2 * Model::V * Model::D;
    state.counters["flops"] =
        static_cast<double>(flops) * static_cast<double>(work.prompt) + 2.0 * static_cast<double>(Model::V * Model::D);
    state.counters["tokens/s"] = bench::rate(static_cast<double>(work.prompt));
  });
}

template <class Weights>
void add_type(llm::DType type) {
  bench::for_each_inference([&](const auto& work) {
    for (const std::int64_t batch : {1, 2, 4, 8}) add_decode<Weights>(work, type, batch);
    if (work.prompt > 0) add_prefill<Weights>(work, type);
  });
}

void add_all() {
  bench::add_limits();
  add_type<llm::Trainable<float>>(llm::DType::f32);
  add_type<llm::Trainable<llm::bf16>>(llm::DType::bf16);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
