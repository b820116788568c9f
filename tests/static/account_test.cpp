// The accountant at compile time against the published figures, and the same functions at run time.
#include <cstddef>
#include <cstdint>
#include <iterator>
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
static_assert(state.weights == 1'004'387'328 && state.gradients == 1'004'387'328);
static_assert(state.master == 2'008'774'656 && state.m == 2'008'774'656 && state.v == 2'008'774'656);
static_assert(state.total == 8'035'098'624);
static_assert(training_state(seed_502m, TrainingPolicy::f32).total == 8'035'098'624);
static_assert(weight_bytes(seed_502m, DType::bf16) == 1'004'387'328);

// Every matrix once, the shared one as the head: 2 FLOPs for each parameter but the norms' gains.
constexpr std::int64_t gains = 18 * 3'072 + 1'536;
constexpr FlopsPerToken flops = flops_per_token(seed_502m, 2048);
static_assert(flops.matrices == 2 * (502'193'664 - gains));
static_assert(flops.attention == 4LL * 18 * 1536 * 2048);
static_assert(flops.training == 6 * (502'193'664 - gains) + 12LL * 18 * 1536 * 2048);  // 6 N + 12 L H E T

// Published counts of dense models whose RoPE scaling has no config here yet; scaling has no parameters.
constexpr Config llama3(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t head_dim, std::int64_t ffn_dim,
                        bool tied) {
  return {.vocab_size = 128256,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = 8,
          .head_dim = head_dim,
          .ffn_dim = ffn_dim,
          .max_seq_len = 131072,
          .rope_theta = 500000.0,
          .tie_embeddings = tied};
}
static_assert(total(llama3(16384, 126, 128, 128, 53248, false)) == 405'853'388'800);
static_assert(total(llama3(2048, 16, 32, 64, 8192, true)) == 1'235'814'400);
static_assert(total(llama3(3072, 28, 24, 128, 8192, true)) == 3'212'749'824);
static_assert(kv_cache_bytes(llama3(4096, 32, 32, 128, 14336, false), DType::bf16, 131072) == 17'179'869'184);

// The configs of configs/, in the order of `all`, with the counts of the published checkpoints.
constexpr std::int64_t published[] = {502'193'664,    124'439'808,   1'557'611'200, 6'738'415'616, 68'976'648'192, 8'030'261'248,
                                      70'553'706'496, 1'100'048'384, 7'241'732'096, 134'515'008,   361'821'120,    1'711'376'384,
                                      494'032'768,    7'615'616'512, 596'049'920,   1'720'574'976, 4'022'468'096,  8'190'735'360,
                                      32'762'123'264, 771'456,       754'816,       817'920};
static_assert(std::size(published) == all.size());

constexpr bool all_as_published() {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (total(*all[i].config) != published[i]) return false;
  return true;
}
static_assert(all_as_published());

}  // namespace

TEST_CASE("the compile-time count equals the run-time count, tied and untied [count]") {
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(std::string(all[i].name));
    Config config = *all[i].config;  // a run-time copy
    CHECK(total(config) == published[i]);
    const std::int64_t embedding = config.vocab_size * config.d_model;
    const bool tied = config.tie_embeddings;
    config.tie_embeddings = !tied;
    CHECK(total(config) == published[i] + (tied ? embedding : -embedding));
  }
  Config config = seed_502m;
  CHECK(parameter_count(config) == seed);
  CHECK(training_state(config, TrainingPolicy::bf16_mixed) == state);
  CHECK(flops_per_token(config, 2048) == flops);
}
