// The accountant's plans: what fits, how long training takes, what decoding reads.
#include <cmath>
#include <cstdint>

#include <llm/configs/all.hpp>
#include <llm/model/account_plan.hpp>
#include <support/catch.hpp>

using namespace llm::configs;
using llm::Config, llm::DType, llm::Placement, llm::TrainingStep;

namespace {

constexpr std::int64_t GB = 1'000'000'000;
constexpr std::int64_t seed_weights = 1'004'387'328, seed_token = 36'864;  // in bf16

constexpr Placement room(std::int64_t memory) { return {.memory = memory}; }

/// Whether this is the largest batch: one more does not fit.
constexpr bool is_largest_batch(const Config& c, TrainingStep step, std::int64_t memory) {
  const std::int64_t batch = llm::largest_batch(c, step, memory);
  step.batch = batch + 1;
  const bool more = llm::training_memory(c, step).total <= memory;
  step.batch = batch;
  return !more && (batch == 0 || llm::training_memory(c, step).total <= memory);
}

constexpr bool near(double value, double expected) { return value > expected * (1 - 1e-12) && value < expected * (1 + 1e-12); }

}  // namespace

// Batches. The 502M model's state alone is 8.04 GB.
static_assert(llm::largest_batch(seed_502m, {.length = 512}, 8 * GB) == 0);
static_assert(llm::largest_batch(seed_502m, {.length = 512}, 24 * GB) > 0);
static_assert(is_largest_batch(seed_502m, {.length = 512}, 24 * GB));
static_assert(is_largest_batch(seed_502m, {.length = 2048, .type = DType::bf16, .recompute = true}, 80 * GB));
static_assert(llm::largest_batch(seed_502m, {.length = 512, .recompute = true}, 24 * GB) >
              llm::largest_batch(seed_502m, {.length = 512}, 24 * GB));
static_assert(llm::largest_batch(seed_502m, {}, 0) == 0 && llm::largest_batch(seed_502m, {}, -GB) == 0);

// Contexts and sequences, to the byte.
static_assert(llm::largest_context(seed_502m, room(seed_weights + 100 * seed_token)) == 100);
static_assert(llm::largest_context(seed_502m, room(seed_weights + 100 * seed_token - 1)) == 99);
static_assert(llm::largest_context(seed_502m, room(seed_weights + 4 * 51 * seed_token - 1), 4) == 50);
static_assert(llm::largest_context(seed_502m, room(seed_weights)) == 0);
static_assert(llm::largest_context(seed_502m, room(seed_weights - 1)) == 0);
static_assert(llm::largest_context(seed_502m, room(0)) == 0 && llm::largest_context(seed_502m, room(INT64_MIN)) == 0);
static_assert(llm::largest_context(seed_502m, room(INT64_MAX)) == 2048);
static_assert(llm::largest_context(seed_502m, room(INT64_MAX), INT64_MAX) == 0);
static_assert(llm::largest_sequences(seed_502m, room(seed_weights + 3 * 2048 * seed_token), 2048) == 3);
static_assert(llm::largest_sequences(seed_502m, room(seed_weights + 3 * 2048 * seed_token - 1), 2048) == 2);
static_assert(llm::largest_sequences(seed_502m, room(seed_weights - 1), 2048) == 0);
static_assert(llm::largest_sequences(seed_502m,
                                     {.weights = DType::f32, .cache_type = DType::f32, .memory = 2 * seed_weights + 2 * seed_token},
                                     1) == 1);
static_assert(llm::largest_context(llama2_7b, {.weights = DType::q8_0, .memory = 8 * GB}) > 0);  // 7.16 GB of weights; 13.5 GB in bf16
static_assert(llm::largest_context(llama2_7b, room(8 * GB)) == 0);
static_assert(llm::largest_context(mixtral_8x7b, room(100 * GB)) > 0);  // also where LLM builds no model

// Time: 3,692,298,240 FLOPs a token.
static_assert(near(llm::training_seconds(seed_502m, 1'000'000, 2048, {.flops_per_second = 1e12, .utilisation = 0.5}), 7384.59648));
static_assert(near(llm::training_seconds(seed_502m, 1'000'000, 2048, {.flops_per_second = 1e12}), 3692.29824));
static_assert(llm::training_seconds(llama3_1_405b, 15'600'000'000'000, 8192, {.flops_per_second = 1e15, .utilisation = 0.4}) > 9e10);

// Reads: all matrices that a token is multiplied with. The tied table is the head.
static_assert(llm::decode_reads(seed_502m, {.context = 100}) ==
              llm::DecodeReads{seed_weights, 100 * seed_token, seed_weights + 100 * seed_token});
static_assert(llm::decode_reads(seed_502m, {.context = 100, .batch = 5}) ==
              llm::DecodeReads{seed_weights, 500 * seed_token, seed_weights + 500 * seed_token});
static_assert(llm::decode_reads(llama3_8b, {}).weights == 2 * (8'030'261'248 - 128'256 * 4096));
static_assert(llm::decode_reads(gpt2_124m, {.weights = DType::f32}).weights == 4 * (124'439'808 - 1024 * 768));
static_assert(llm::decode_reads(llama2_7b, {.weights = DType::q8_0}).weights ==
              llm::weight_bytes(llama2_7b, DType::q8_0) - std::int64_t{32000} * 4096 / 32 * 34);

// A window: no more than 4096 positions are read.
static_assert(llm::decode_reads(mistral_7b, {.context = 8192}).cache == 4096 * llm::kv_cache_bytes_per_token(mistral_7b, DType::bf16));

// Experts: 2 of 8 for one token; 3.5 on average for two that choose evenly; all for many.
constexpr std::int64_t mixtral_table = std::int64_t{32000} * 4096, mixtral_expert = std::int64_t{3} * 4096 * 14336 * 32;
constexpr std::int64_t mixtral_two = llm::decode_reads(mixtral_8x7b, {}).weights;
static_assert(mixtral_two == 2 * (llm::parameter_count(mixtral_8x7b).active - mixtral_table));
static_assert(llm::decode_reads(mixtral_8x7b, {.batch = 2}).weights == mixtral_two + 2 * mixtral_expert * 3 / 2);
static_assert(llm::decode_reads(mixtral_8x7b, {.batch = 1000}).weights == 2 * (46'702'792'704 - mixtral_table));

// A config that breaks the rules has a figure too, and no undefined one.
static_assert(llm::detail::experts_met(0, 0, 4) == 0 && llm::detail::experts_met(4, 8, 3) == 4 && llm::detail::experts_met(4, 4, 2) == 4);

// Nothing takes time in proportion to a number in the config: the compiler's limit for an evaluation would be exceeded.
constexpr llm::Config deep{.vocab_size = 2,
                           .d_model = 2,
                           .n_layers = std::int64_t{1} << 40,
                           .n_heads = 1,
                           .ffn_dim = 1,
                           .max_seq_len = std::int64_t{1} << 16,
                           .sliding_window = 8};
constexpr llm::Config deep_experts = [] {
  llm::Config c = deep;
  c.full_attention_every = 3;
  c.experts = {.count = 1 << 10, .active = 2, .first_dense = 1 << 20, .every = 2};
  return c;
}();
static_assert(llm::buildable(deep) && llm::config_rules::is_valid(deep_experts));
static_assert(llm::parameter_count(deep).total == 2 * 2 * 2 + 2 + (std::int64_t{1} << 40) * (4 * 4 + 3 * 2 + 2 * 2));
static_assert(llm::parameter_count(deep_experts).moe_layers == (deep.n_layers - (1 << 20)) / 2);
static_assert(llm::flops_per_token(deep_experts, 100).forward > 0);
static_assert(llm::decode_reads(deep_experts, {.context = 1 << 10, .batch = 1 << 8}).total > 0);
static_assert(llm::largest_context(deep_experts, {.memory = INT64_MAX}) == 1 << 16);
static_assert(llm::largest_sequences(deep_experts, {.memory = INT64_MAX}, 1) > 0);
static_assert(llm::training_memory(deep, {.length = 1 << 10}).total > 0);
static_assert(llm::largest_batch(deep, {.length = 8}, INT64_MAX) > 0);
static_assert(llm::decode_memory(deep, {.prompt = 1 << 10, .capacity = 1 << 10}).total > 0);

// Speed: bandwidth over bytes; a batch shares the weights.
static_assert(near(llm::decode_tokens_per_second(seed_502m, {.context = 100}, 1e12), 1e12 / (seed_weights + 100.0 * seed_token)));
static_assert(near(llm::decode_tokens_per_second(seed_502m, {.context = 100, .batch = 8}, 1e12),
                   8e12 / (seed_weights + 800.0 * seed_token)));

TEST_CASE("the largest batch is the last that fits, for any memory") {
  const TrainingStep step{.length = 64};
  for (std::int64_t memory = 1; memory < std::int64_t{1} << 50; memory = memory * 3 + 1) {
    INFO("memory " << memory);
    CHECK(is_largest_batch(modern_small<128>, step, memory));
  }
  const std::int64_t huge = llm::largest_batch(modern_small<128>, step, INT64_MAX);  // beyond 62 bits nothing is said to fit
  CHECK(huge > std::int64_t{1} << 38);
  CHECK_THROWS_AS(llm::training_memory(modern_small<128>, {.batch = huge + 1, .length = 64}), llm::ConfigError);
}

TEST_CASE("a plan whose arguments cannot be is refused [int64]") {
  const auto seconds = [](double flops, double utilisation) {
    return llm::training_seconds(seed_502m, 1, 1, {.flops_per_second = flops, .utilisation = utilisation});
  };
  for (const double utilisation : {0.0, -0.5, 1.0000001, 40.0, double{NAN}}) CHECK_THROWS_AS(seconds(1e12, utilisation), llm::ValueError);
  for (const double flops : {0.0, -1.0, double{NAN}, double{INFINITY}}) CHECK_THROWS_AS(seconds(flops, 0.5), llm::ValueError);
  CHECK_THROWS_WITH(seconds(1e12, 40), "llm::training_seconds: utilisation 40 is not in (0, 1]");
  CHECK_THROWS_AS(llm::training_seconds(seed_502m, 0, 1, {.flops_per_second = 1}), llm::ValueError);
  CHECK_THROWS_AS(llm::training_seconds(seed_502m, 1, 0, {.flops_per_second = 1}), llm::ValueError);
  CHECK_THROWS_AS(llm::decode_tokens_per_second(seed_502m, {}, 0), llm::ValueError);
  CHECK_THROWS_AS(llm::decode_reads(seed_502m, {.context = 2049}), llm::ValueError);
  CHECK_THROWS_AS(llm::decode_reads(seed_502m, {.batch = 0}), llm::ValueError);
  CHECK_THROWS_AS(llm::decode_reads(seed_502m, {.batch = INT64_MAX}), llm::ConfigError);
  CHECK_THROWS_AS(llm::decode_reads(seed_502m, {.weights = {DType::bf16, DType::bf16, DType::bf16, DType::q8_0}}), llm::ConfigError);
  CHECK_THROWS_AS(llm::largest_context(seed_502m, room(GB), 0), llm::ValueError);
  CHECK_THROWS_AS(llm::largest_sequences(seed_502m, room(GB), 0), llm::ValueError);
  CHECK_THROWS_AS(llm::largest_sequences(seed_502m, room(GB), 2049), llm::ValueError);
  CHECK_THROWS_AS(llm::largest_batch(seed_502m, {.length = 0}, GB), llm::ValueError);
  CHECK_THROWS_AS(llm::largest_batch(llm::configs::deepseek_v2_lite, {}, GB), llm::ConfigError);
}
