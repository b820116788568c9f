// What inspect finds out about a model: the accountant's figures, and how its files fit its config.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/tensor_check.hpp>
#include <llm/model/account.hpp>
#include <llm/model/config.hpp>
#include <llm/model/rules.hpp>

namespace examples::inspect {

/// What to compute with.
struct Setting {
  std::int64_t memory = 0;   // bytes; 0: no plan
  std::int64_t context = 0;  // positions of a sequence
  std::int64_t batch = 1;    // sequences
};

/// A figure, or why there is none.
template <class T>
struct Maybe {
  std::optional<T> value;
  std::string reason;
};

/// f(), or what it throws.
template <class F>
auto maybe(F&& f) -> Maybe<decltype(f())> {
  try {
    return {f(), {}};
  } catch (const llm::Error& error) {
    return {std::nullopt, error.what()};
  }
}

inline constexpr std::array weight_formats{llm::DType::f32,  llm::DType::bf16, llm::DType::q8_0, llm::DType::q6_k,
                                           llm::DType::q5_k, llm::DType::q4_k, llm::DType::q4_0};
inline constexpr std::array cache_formats{llm::DType::f32, llm::DType::bf16, llm::DType::q8_0};

struct Weights {
  llm::DType type;
  Maybe<std::int64_t> bytes;
};

struct Cache {
  llm::DType type;
  Maybe<std::int64_t> per_token, per_sequence, all;  // all: of the batch
};

/// One way to train.
struct Training {
  llm::DType type;
  bool recompute;
  Maybe<llm::TrainingMemory> memory;
  Maybe<std::int64_t> largest_batch;  // in the memory of the setting
};

/// One way to generate in the memory of the setting.
struct Inference {
  llm::DType weights, cache;
  Maybe<std::int64_t> context;    // the longest, for the batch
  Maybe<std::int64_t> sequences;  // the most, of the context
};

/// How a model's files fit its config.
struct Files {
  std::vector<std::string> paths;
  llm::TensorCheck check;
};

struct Report {
  std::string source;
  std::string family;  // empty for a config of the library
  llm::Config config;
  Setting setting;
  llm::ParameterCount parameters;
  std::vector<std::string> unbuilt;
  std::vector<Weights> weights;
  std::vector<Cache> caches;
  llm::TrainingState state_f32, state_mixed;
  std::vector<Training> training;
  Maybe<llm::DecodeMemory> generation;  // bf16 weights and cache
  llm::FlopsPerToken flops;
  Maybe<llm::DecodeReads> reads;  // bf16
  std::vector<Inference> inference;
  std::optional<Files> files;
};

inline Cache cache_of(const llm::Config& c, llm::DType type, const Setting& s) {
  return {type, maybe([&] { return llm::kv_cache_bytes_per_token(c, type); }),
          maybe([&] { return llm::kv_cache_bytes(c, type, s.context); }),
          maybe([&] { return llm::kv_cache_bytes(c, type, s.context, s.batch); })};
}

inline Training training_of(const llm::Config& c, llm::DType type, bool recompute, const Setting& s) {
  const llm::TrainingStep step{.batch = s.batch, .length = s.context, .type = type, .recompute = recompute};
  return {type, recompute, maybe([&] { return llm::training_memory(c, step); }),
          maybe([&] { return llm::largest_batch(c, step, s.memory); })};
}

inline Inference inference_of(const llm::Config& c, llm::DType weights, llm::DType cache, const Setting& s) {
  const llm::Placement placement{.weights = weights, .cache_type = cache, .memory = s.memory};
  return {weights, cache, maybe([&] { return llm::largest_context(c, placement, s.batch); }),
          maybe([&] { return llm::largest_sequences(c, placement, s.context); })};
}

/// The accountant's part. The config is valid, and setting.context one of its positions.
inline Report account(const llm::Config& c, std::string source, const Setting& setting) {
  using llm::DType;
  Report r;
  r.source = std::move(source);
  r.config = c;
  r.setting = setting;
  r.parameters = llm::parameter_count(c);
  r.unbuilt = llm::unbuilt_features(c);
  for (const DType type : weight_formats) r.weights.push_back({type, maybe([&] { return llm::weight_bytes(c, type); })});
  for (const DType type : cache_formats) r.caches.push_back(cache_of(c, type, setting));
  r.state_f32 = llm::training_state(c, llm::TrainingPolicy::f32);
  r.state_mixed = llm::training_state(c, llm::TrainingPolicy::bf16_mixed);
  for (const DType type : {DType::f32, DType::bf16})
    for (const bool recompute : {false, true}) r.training.push_back(training_of(c, type, recompute, setting));
  r.generation = maybe([&] {
    return llm::decode_memory(
        c,
        {.batch = setting.batch, .prompt = setting.context, .capacity = setting.context, .type = DType::bf16, .cache_type = DType::bf16});
  });
  r.flops = llm::flops_per_token(c, setting.context);
  r.reads = maybe([&] { return llm::decode_reads(c, {.context = setting.context, .batch = setting.batch}); });
  if (setting.memory > 0)
    for (const DType type : weight_formats) r.inference.push_back(inference_of(c, type, DType::bf16, setting));
  return r;
}

}  // namespace examples::inspect
