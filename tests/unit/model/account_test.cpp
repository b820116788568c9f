// The accountant at run time: parts that add up, biases and other choices, bytes, FLOPs, and sizes beyond 63 bits.
#include <cstdint>
#include <string>

#include <llm/configs/all.hpp>
#include <llm/core/error.hpp>
#include <llm/model/account.hpp>
#include <support/catch.hpp>

namespace {

using llm::Config;
using llm::DType;

// Small enough to count by hand: D 8, H 4, K 2, E 3, F 10, V 20, L 2.
Config small() {
  return {.vocab_size = 20, .d_model = 8, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 3, .ffn_dim = 10, .max_seq_len = 16};
}

std::int64_t added(void (*change)(Config&)) {
  Config config = small();
  const std::int64_t before = llm::parameter_count(config).total;
  change(config);
  return llm::parameter_count(config).total - before;
}

}  // namespace

TEST_CASE("parameter counts of a model counted by hand") {
  const llm::ParameterCount n = llm::parameter_count(small());
  CHECK(n.embedding == 160);
  CHECK(n.positions == 0);
  CHECK(n.attention_per_layer == 96 + 48 + 48 + 96);
  CHECK(n.mlp_per_layer == 240);
  CHECK(n.norms_per_layer == 16);
  CHECK(n.block == 544);
  CHECK(n.blocks == 1088);
  CHECK(n.final_norm == 8);
  CHECK(n.head == 160);
  CHECK(n.total == 160 + 1088 + 8 + 160);
}

TEST_CASE("what each choice of architecture adds") {
  CHECK(added([](Config& c) { c.tie_embeddings = true; }) == -160);
  CHECK(added([](Config& c) { c.qkv_bias = true; }) == 2 * (12 + 6 + 6));
  CHECK(added([](Config& c) { c.attention_out_bias = true; }) == 2 * 8);
  CHECK(added([](Config& c) { c.mlp_bias = true; }) == 2 * (10 + 10 + 8));
  CHECK(added([](Config& c) { c.mlp = llm::Mlp::gelu_erf; }) == -2 * 80);
  CHECK(added([](Config& c) { c.mlp = llm::Mlp::gelu_tanh, c.mlp_bias = true; }) == 2 * (-80 + 10 + 8));
  CHECK(added([](Config& c) { c.norm = llm::Norm::layer_norm; }) == 2 * 16 + 8);
  CHECK(added([](Config& c) { c.norm_position = llm::NormPosition::post; }) == -8);
  CHECK(added([](Config& c) { c.norm_position = llm::NormPosition::branch; }) == 0);
  CHECK(added([](Config& c) { c.norm_position = llm::NormPosition::sandwich; }) == 2 * 16);
  CHECK(added([](Config& c) { c.mlp = llm::Mlp::geglu_tanh, c.parallel_residual = true; }) == 0);
  CHECK(added([](Config& c) { c.qk_norm = true; }) == 2 * (3 + 3));
  CHECK(added([](Config& c) { c.qk_norm = c.qk_norm_joint = true; }) == 2 * (12 + 6));
  CHECK(added([](Config& c) { c.position = llm::Position::learned; }) == 16 * 8);
  CHECK(added([](Config& c) { c.position = llm::Position::none; }) == 0);
  CHECK(added([](Config& c) { c.n_kv_heads = 0; }) == 2 * 2 * 48);
  CHECK(added([](Config& c) { c.head_dim = 0; }) == -2 * 96);  // E = 8 / 4
  CHECK(added([](Config& c) { c.sliding_window = 4, c.rope_dim = 2, c.rope_theta = 5; }) == 0);
}

TEST_CASE("experts counted by hand") {
  Config config = small();
  config.n_layers = 5;
  config.experts = {.count = 6, .active = 2, .ffn_dim = 4, .shared_ffn_dim = 7, .shared_gate = true, .first_dense = 1, .every = 2};
  const llm::ParameterCount n = llm::parameter_count(config);
  CHECK(n.moe_layers == 2);  // layers 2 and 4, counted from 0
  CHECK(n.dense_layers == 3);
  for (const std::int64_t layer : {0, 1, 3}) CHECK_FALSE(config.expert_layer(layer));
  for (const std::int64_t layer : {2, 4}) CHECK(config.expert_layer(layer));
  CHECK(n.router_per_layer == 6 * 8);
  CHECK(n.expert == 3 * 8 * 4);
  CHECK(n.shared_experts_per_layer == 3 * 8 * 7 + 8);
  CHECK(n.moe_per_layer == 48 + 6 * 96 + 176);
  CHECK(n.mlp_per_layer == 240);
  CHECK(n.block == 288 + 240 + 16);
  CHECK(n.moe_block == 288 + 800 + 16);
  CHECK(n.blocks == 3 * 544 + 2 * 1104);
  CHECK(n.total == 160 + n.blocks + 8 + 160);
  CHECK(n.active == n.total - 2 * 4 * 96);
  CHECK(llm::flops_per_token(config, 0).matrices == 2 * (5 * 288 + 3 * 240 + 2 * (48 + 2 * 96 + 176) + 160));

  config.experts.score_bias = true;
  CHECK(llm::parameter_count(config).router_per_layer == 48 + 6);
  CHECK(llm::parameter_count(config).total == n.total + 2 * 6);
  config.experts.ffn_dim = 0;  // as wide as the MLP
  CHECK(llm::parameter_count(config).expert == 240);
  config.experts = {.count = 6, .active = 2, .ffn_dim = 4};  // in every layer
  CHECK(llm::parameter_count(config).mlp_per_layer == 0);
  CHECK(llm::parameter_count(config).block == 0);
  CHECK(llm::parameter_count(config).blocks == 5 * (288 + 48 + 6 * 96 + 16));
}

TEST_CASE("latent attention counted by hand") {
  Config config = small();
  config.n_kv_heads = config.head_dim = 0;
  config.mla = {.kv_rank = 10, .q_rank = 9, .nope_dim = 5, .rope_dim = 2, .v_dim = 6};
  const llm::ParameterCount n = llm::parameter_count(config);
  CHECK(n.attention_per_layer == 9 * 8 + 4 * 7 * 9 + (10 + 2) * 8 + 4 * (5 + 6) * 10 + 8 * 4 * 6);
  CHECK(n.norms_per_layer == 2 * 8 + 10 + 9);
  CHECK(llm::kv_cache_bytes_per_token(config, DType::bf16) == 2 * 2 * (10 + 2));
  CHECK(llm::flops_per_token(config, 3).attention == 2 * (4 * 7 + 4 * 6) * 2 * 3);
  config.mla.q_rank = 0;
  CHECK(llm::parameter_count(config).attention_per_layer == n.attention_per_layer - 9 * 8 - 4 * 7 * 9 + 4 * 7 * 8);
  CHECK(llm::parameter_count(config).norms_per_layer == 2 * 8 + 10);
}

TEST_CASE("layers with and without a window attend to different lengths") {
  Config config = small();
  config.n_layers = 7;
  config.sliding_window = 4;
  config.full_attention_every = 3;
  int windowed = 0;
  for (std::int64_t layer = 0; layer < 7; ++layer) windowed += config.windowed_layer(layer) ? 1 : 0;
  CHECK(windowed == 5);
  CHECK_FALSE(config.windowed_layer(2));
  CHECK(llm::flops_per_token(config, 16).attention == 4 * 12 * (2 * 16 + 5 * 4));
  CHECK(llm::flops_per_token(config, 4).attention == 4 * 12 * 7 * 4);
}

TEST_CASE("the parts of every config add up") {
  for (const auto& entry : llm::configs::all) {
    INFO(std::string(entry.name));
    const llm::ParameterCount n = llm::parameter_count(*entry.config);
    CHECK(n.block == (n.dense_layers == 0 ? 0 : n.attention_per_layer + n.mlp_per_layer + n.norms_per_layer));
    CHECK(n.moe_block == (n.moe_layers == 0 ? 0 : n.attention_per_layer + n.moe_per_layer + n.norms_per_layer));
    CHECK(n.dense_layers + n.moe_layers == entry.config->n_layers);
    CHECK(n.blocks == n.block * n.dense_layers + n.moe_block * n.moe_layers);
    CHECK(n.active == n.total - n.moe_layers * n.expert * (entry.config->experts.count - entry.config->experts.active));
    CHECK(n.total == n.embedding + n.positions + n.blocks + n.final_norm + n.head);
  }
}

TEST_CASE("bytes of weights and cache follow the element type") {
  const Config config = small();
  CHECK(llm::weight_bytes(config, DType::f32) == 4 * 1416);
  CHECK(llm::weight_bytes(config, DType::bf16) == 2 * 1416);
  CHECK(llm::kv_cache_bytes_per_token(config, DType::f32) == 4 * 2 * 2 * 6);
  CHECK(llm::kv_cache_bytes_per_token(config, DType::bf16) == 2 * 2 * 2 * 6);
  CHECK(llm::kv_cache_bytes(config, DType::bf16, 10) == 480);
  CHECK(llm::kv_cache_bytes(config, DType::bf16, 10, 3) == 1440);
  CHECK(llm::kv_cache_bytes(config, DType::bf16, 0, 3) == 0);
  CHECK(llm::kv_cache_bytes_per_token(llm::configs::seed_502m, DType::q8_0) == 36'864 / 2 / 32 * 34);
  Config uneven = config;  // all rows together are whole blocks, one row is not
  uneven.n_layers = 32;
  CHECK_THROWS_AS(llm::kv_cache_bytes_per_token(uneven, DType::q8_0), llm::ShapeError);
  CHECK_THROWS_WITH(llm::kv_cache_bytes_per_token(uneven, DType::q8_0), Catch::Contains("6 elements") && Catch::Contains("q8_0"));
}

TEST_CASE("weights in block formats: rows in whole blocks, small parts in f32") {
  const Config& seed = llm::configs::seed_502m;
  constexpr std::int64_t gains = 18 * 3'072 + 1'536, matrices = 502'193'664 - gains;
  CHECK(llm::weight_bytes(seed, DType::q8_0) == matrices / 32 * 34 + 4 * gains);
  CHECK(llm::weight_bytes(seed, DType::q4_k) == matrices / 256 * 144 + 4 * gains);
  // The shared matrix in another format, as files of mixed formats have it.
  constexpr std::int64_t embedding = 49'152'000;
  CHECK(llm::weight_bytes(seed, {DType::q4_k, DType::q6_k, DType::q6_k}) ==
        (matrices - embedding) / 256 * 144 + embedding / 256 * 210 + 4 * gains);
  CHECK(llm::weight_bytes(seed, {DType::bf16, DType::bf16, DType::bf16, DType::bf16}) == 2 * 502'193'664);
  CHECK_THROWS_AS(llm::weight_bytes(small(), DType::q8_0), llm::ShapeError);
  CHECK_THROWS_WITH(llm::weight_bytes(small(), DType::q8_0), Catch::Contains("embed_tokens") && Catch::Contains("8 elements"));
  CHECK_THROWS_AS(llm::weight_bytes(seed, {DType::q8_0, DType::q8_0, DType::q8_0, DType::q8_0}), llm::ConfigError);

  Config sparse = seed;  // the router stays in f32
  sparse.experts = {.count = 3, .active = 1, .ffn_dim = 32};
  const llm::ParameterCount n = llm::parameter_count(sparse);
  CHECK(llm::weight_bytes(sparse, DType::q8_0) ==
        (n.total - gains - 18 * n.router_per_layer) / 32 * 34 + 4 * (gains + 18 * n.router_per_layer));
}

TEST_CASE("training state under both policies") {
  const llm::TrainingState f32 = llm::training_state(small(), llm::TrainingPolicy::f32);
  CHECK(f32 == llm::TrainingState{.weights = 5664, .gradients = 5664, .master = 0, .m = 5664, .v = 5664, .total = 22656});
  const llm::TrainingState mixed = llm::training_state(small(), llm::TrainingPolicy::bf16_mixed);
  CHECK(mixed == llm::TrainingState{.weights = 2832, .gradients = 5664, .master = 5664, .m = 5664, .v = 5664, .total = 25488});
}

TEST_CASE("FLOPs for one token") {
  Config config = small();
  const llm::FlopsPerToken f = llm::flops_per_token(config, 16);
  CHECK(f.matrices == 2 * (2 * (288 + 240) + 160));
  CHECK(f.attention == 4 * 16 * 12 * 2);
  CHECK(f.forward == f.matrices + f.attention);
  CHECK(f.training == 3 * f.forward);
  CHECK(llm::flops_per_token(config, 0).attention == 0);

  config.tie_embeddings = true;  // the head is still a product
  config.qkv_bias = true;
  CHECK(llm::flops_per_token(config, 16) == f);
  config.sliding_window = 5;
  CHECK(llm::flops_per_token(config, 16).attention == 4 * 5 * 12 * 2);
  CHECK(llm::flops_per_token(config, 3).attention == 4 * 3 * 12 * 2);
}

TEST_CASE("sizes are 64-bit, and what exceeds them is an error [int64]") {
  Config config = small();
  config.vocab_size = 2147483647;
  config.d_model = 1 << 20;
  CHECK(llm::parameter_count(config).embedding == std::int64_t{2147483647} << 20);

  config.d_model = std::int64_t{1} << 60;
  CHECK_THROWS_AS(llm::parameter_count(config), llm::ConfigError);
  CHECK_THROWS_AS(llm::weight_bytes(config, DType::bf16), llm::ConfigError);
  CHECK_THROWS_AS(llm::training_state(config, llm::TrainingPolicy::f32), llm::ConfigError);
  CHECK_THROWS_AS(llm::flops_per_token(config, 1), llm::ConfigError);

  const Config seed = llm::configs::seed_502m;
  CHECK(llm::kv_cache_bytes(seed, DType::bf16, 2048, 1'000'000) == std::int64_t{36'864} * 2048 * 1'000'000);
  CHECK_THROWS_AS(llm::kv_cache_bytes(seed, DType::bf16, std::int64_t{1} << 40, 1 << 20), llm::ConfigError);
  CHECK_THROWS_AS(llm::flops_per_token(seed, INT64_MAX), llm::ConfigError);
}
