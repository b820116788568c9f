// The accountant at compile time on the 502M model, part by part, and the same functions at run time on every config.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <llm/configs/all.hpp>
#include <llm/model/account.hpp>
#include <support/catch.hpp>

namespace {

using namespace llm;
using namespace llm::configs;

constexpr std::int64_t total(const Config& config) { return parameter_count(config).total; }

// The 502M model, part by part.
constexpr ParameterCount seed = parameter_count(seed_502m);
static_assert(seed.attention_per_layer == 6'291'456);
static_assert(seed.mlp_per_layer == 18'874'368);
static_assert(seed.norms_per_layer == 3'072);
static_assert(seed.block == 25'168'896);
static_assert(seed.embedding == 49'152'000 && seed.head == 0 && seed.positions == 0);
static_assert(seed.blocks == 453'040'128);
static_assert(seed.final_norm == 1'536);
static_assert(seed.total == 502'193'664);

constexpr Config with_kv_heads(Config config, std::int64_t n) {
  config.n_kv_heads = n;
  return config;
}
constexpr Config untied(Config config) {
  config.tie_embeddings = false;
  return config;
}
static_assert(parameter_count(with_kv_heads(seed_502m, 12)).attention_per_layer == 9'437'184);
static_assert(total(untied(seed_502m)) - seed.total == 49'152'000);

static_assert(kv_cache_bytes_per_token(seed_502m, DType::bf16) == 36'864);
static_assert(kv_cache_bytes(seed_502m, DType::bf16, 2048) == 75'497'472);
static_assert(kv_cache_bytes_per_token(with_kv_heads(seed_502m, 12), DType::bf16) == 110'592);
static_assert(kv_cache_bytes(with_kv_heads(seed_502m, 12), DType::bf16, 2048) == 226'492'416);
static_assert(kv_cache_bytes_per_token(seed_502m, DType::f32) == 73'728);

constexpr TrainingState state = training_state(seed_502m, TrainingPolicy::bf16_mixed);
static_assert(state.weights == 1'004'387'328 && state.gradients == 2'008'774'656);
static_assert(state.master == 2'008'774'656 && state.m == 2'008'774'656 && state.v == 2'008'774'656);
static_assert(state.total == 9'039'485'952);
static_assert(training_state(seed_502m, TrainingPolicy::f32).total == 8'035'098'624);
static_assert(weight_bytes(seed_502m, DType::bf16) == 1'004'387'328);

// Every matrix once, the shared one as the head: 2 FLOPs for each parameter but the norms' gains.
constexpr std::int64_t gains = 18 * 3'072 + 1'536;
constexpr FlopsPerToken flops = flops_per_token(seed_502m, 2048);
static_assert(flops.matrices == 2 * (502'193'664 - gains));
static_assert(flops.attention == 4LL * 18 * 1536 * 2048);
static_assert(flops.training == 6 * (502'193'664 - gains) + 12LL * 18 * 1536 * 2048);  // 6 N + 12 L H E T

// The totals of every config as the compiler counts them.
constexpr auto compiled = [] {
  std::array<std::int64_t, all.size()> totals{};
  for (std::size_t i = 0; i < all.size(); ++i) totals[i] = total(*all[i].config);
  return totals;
}();

}  // namespace

TEST_CASE("the compile-time count equals the run-time count, tied and untied [count]") {
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(std::string(all[i].name));
    Config config = *all[i].config;  // a run-time copy
    CHECK(total(config) == compiled[i]);
    const std::int64_t embedding = config.vocab_size * config.d_model;
    const bool tied = config.tie_embeddings;
    config.tie_embeddings = !tied;
    CHECK(total(config) == compiled[i] + (tied ? embedding : -embedding));
  }
  Config config = seed_502m;
  CHECK(parameter_count(config) == seed);
  CHECK(training_state(config, TrainingPolicy::bf16_mixed) == state);
  CHECK(flops_per_token(config, 2048) == flops);
}
