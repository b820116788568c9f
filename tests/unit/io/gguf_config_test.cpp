// Configs from GGUF metadata: each architecture as it is written.
#include <llm/io/gguf_config.hpp>

#include <cstdint>
#include <string>

#include <support/catch.hpp>
#include <support/gguf_model.hpp>

using namespace llm_test;
using llm::Config;
using llm::Family;
using llm::GgufFile;

static auto says(const std::string& text) { return Catch::Contains(text); }

TEST_CASE("the config of tiny.gguf is read right [rope_conv]") {
  const std::string path = LLM_TEST_DATA "/goldens/tiny.gguf";
  const auto published = llm::read_gguf_config(GgufFile::open(path));
  CHECK(published.source == path);
  CHECK(published.family == Family::llama);
  const Config expected{.vocab_size = 500,
                        .d_model = 32,
                        .n_layers = 2,
                        .n_heads = 4,
                        .n_kv_heads = 2,
                        .head_dim = 8,
                        .ffn_dim = 256,
                        .max_seq_len = 64,
                        .norm_eps = 1e-5,  // the file has the float nearest to it
                        .position = llm::Position::rope_interleaved};
  CHECK(llm::config_differences(published.config, "the file", expected, "the test") == "");
  CHECK(published.config == expected);
}

TEST_CASE("llama: interleaved rotation, tied or not, biases and widths of heads as the file has them") {
  check_gguf_config(GgufModel("llama"), gguf_llama_config(), Family::llama);
  Config expected = gguf_llama_config();
  expected.tie_embeddings = false;
  expected.head_dim = 20;
  expected.rope_dim = 10;
  expected.rope_theta = 500000;
  expected.qkv_bias = expected.attention_out_bias = expected.mlp_bias = true;
  check_gguf_config(GgufModel("llama")
                        .zeros("output.weight", {10, 64})
                        .zeros("blk.0.attn_q.bias", {1})
                        .zeros("blk.0.attn_output.bias", {1})
                        .zeros("blk.0.ffn_up.bias", {1})
                        .u32("attention.key_length", 20)
                        .u32("attention.value_length", 20)
                        .u32("rope.dimension_count", 10)
                        .f32("rope.freq_base", 500000)
                        .u32("vocab_size", 10)
                        .flag("attention.causal", true)
                        .text("tensor_data_layout", "Meta AI original pth"),
                    expected, Family::llama);
  expected = gguf_llama_config();
  expected.n_kv_heads = 4;
  check_gguf_config(GgufModel("llama", {"attention.head_count_kv"}).u32("rope.dimension_count", 16), expected, Family::llama);
}

TEST_CASE("llama with experts is Mixtral") {
  Config expected = gguf_llama_config();
  expected.experts = {.count = 8, .active = 2};
  check_gguf_config(GgufModel("llama").u32("expert_count", 8).u32("expert_used_count", 2), expected, Family::mixtral);
  check_gguf_config(GgufModel("llama").u32("expert_count", 0).u32("expert_used_count", 0), gguf_llama_config(), Family::llama);
  CHECK_THAT(GgufModel("llama").u32("expert_count", 8).refusal(), says("key 'llama.expert_used_count' is missing"));
  CHECK_THAT(GgufModel("llama").u32("expert_count", 8).u32("expert_used_count", 9).refusal(), says("test.gguf"));
}

TEST_CASE("qwen2, qwen3, qwen3moe, olmo2 and phi3 rotate halves of heads") {
  Config expected = gguf_model_config();
  expected.qkv_bias = true;
  check_gguf_config(GgufModel("qwen2").zeros("blk.0.attn_q.bias", {64}), expected, Family::qwen2);

  expected = gguf_model_config();
  expected.qk_norm = true;
  expected.head_dim = 32;
  check_gguf_config(GgufModel("qwen3").u32("attention.key_length", 32).u32("attention.value_length", 32), expected, Family::qwen3);
  expected.experts = {.count = 16, .active = 4, .ffn_dim = 24};
  const auto qwen3moe = [] { return GgufModel("qwen3moe").u32("attention.key_length", 32).u32("attention.value_length", 32); };
  check_gguf_config(qwen3moe().u32("expert_count", 16).u32("expert_used_count", 4).u32("expert_feed_forward_length", 24), expected,
                    Family::qwen3_moe);
  CHECK_THAT(qwen3moe().refusal(), says("key 'qwen3moe.expert_count' is missing or 0"));
  CHECK_THAT(qwen3moe().u32("expert_count", 16).u32("expert_used_count", 4).refusal(), says("expert_feed_forward_length' is missing"));

  expected = gguf_model_config();
  expected.norm_position = llm::NormPosition::branch;
  expected.norm_rounding = llm::Rounding::gain_then_round;
  expected.qk_norm = expected.qk_norm_joint = true;
  check_gguf_config(GgufModel("olmo2"), expected, Family::olmo2);
  CHECK_THAT(GgufModel("olmo2").u32("attention.sliding_window", 64).refusal(), says("key 'olmo2.attention.sliding_window' is unknown"));

  expected = gguf_model_config();
  expected.sliding_window = 33;
  expected.rope_dim = 12;
  check_gguf_config(GgufModel("phi3")
                        .u32("attention.sliding_window", 33)
                        .u32("rope.dimension_count", 12)
                        .u32("rope.scaling.original_context_length", 128),
                    expected, Family::phi3);
  CHECK_THAT(GgufModel("phi3").zeros("rope_factors_long.weight", {8}).refusal(), says("longrope is not supported"));
}

TEST_CASE("gpt2 and starcoder2 have LayerNorm and GELU") {
  Config expected = gguf_model_config();
  expected.n_kv_heads = 4;
  expected.norm = llm::Norm::layer_norm;
  expected.mlp = llm::Mlp::gelu_tanh;
  expected.position = llm::Position::learned;
  expected.qkv_bias = expected.attention_out_bias = expected.mlp_bias = true;
  check_gguf_config(GgufModel("gpt2", {"attention.head_count_kv"})
                        .zeros("blk.0.attn_qkv.bias", {192})
                        .zeros("blk.0.attn_output.bias", {64})
                        .zeros("blk.0.ffn_up.bias", {96}),
                    expected, Family::gpt2);
  CHECK_THAT(GgufModel("gpt2").f32("rope.freq_base", 10000).refusal(), says("key 'gpt2.rope.freq_base' is unknown"));

  expected = gguf_model_config();
  expected.norm = llm::Norm::layer_norm;
  expected.mlp = llm::Mlp::gelu_tanh;
  check_gguf_config(GgufModel("starcoder2"), expected, Family::starcoder2);
}

TEST_CASE("gemma, gemma2 and gemma3") {
  Config expected = gguf_model_config();
  expected.norm_rounding = llm::Rounding::gain_then_round;
  expected.mlp = llm::Mlp::geglu_tanh;
  expected.scale_embeddings = true;
  check_gguf_config(GgufModel("gemma"), expected, Family::gemma);

  expected.norm_position = llm::NormPosition::sandwich;
  expected.n_layers = 26;
  expected.sliding_window = 32;
  expected.full_attention_every = 2;
  expected.attention_softcap = 50;
  expected.logit_softcap = 30;
  const auto with_layers = [](const std::string& architecture, std::uint32_t layers) {
    GgufModel model(architecture, {"block_count"});
    model.builder.u32(architecture + ".block_count", layers);
    return model;
  };
  const auto second = [&](std::uint32_t layers) {
    return with_layers("gemma2", layers)
        .f32("attn_logit_softcapping", 50)
        .f32("final_logit_softcapping", 30)
        .u32("attention.sliding_window", 32);
  };
  check_gguf_config(second(26), expected, Family::gemma2);
  expected.n_layers = 46;
  expected.attention_scale = 0.25;
  check_gguf_config(second(46), expected, Family::gemma2);
  CHECK_THAT(second(30).refusal(), says("no published gemma2 has 30 layers"));
  CHECK_THAT(with_layers("gemma2", 26).refusal(), says("key 'gemma2.attention.sliding_window' is missing"));

  expected.attention_softcap = expected.logit_softcap = expected.attention_scale = 0;
  expected.qk_norm = true;
  expected.n_layers = 34;
  expected.rope_theta = 1e6;
  expected.full_attention_every = 6;
  expected.rope_theta_window = 10000;
  expected.rope_scaling = {.kind = llm::RopeScalingKind::linear, .factor = 8};
  const auto third = [&](std::uint32_t layers) { return with_layers("gemma3", layers).f32("rope.freq_base", 1e6f); };
  check_gguf_config(third(34).u32("attention.sliding_window", 32).text("rope.scaling.type", "linear").f32("rope.scaling.factor", 8),
                    expected, Family::gemma3);
  expected.rope_scaling = {};
  expected.n_layers = 62;
  expected.attention_scale = 0.25;
  expected.full_attention_every = 3;
  expected.rope_theta_window = 5000;
  check_gguf_config(
      third(62).u32("attention.sliding_window", 32).u32("attention.sliding_window_pattern", 3).f32("rope.freq_base_swa", 5000), expected,
      Family::gemma3);
  CHECK_THAT(third(2).refusal(), says("no published gemma3 has 2 layers"));
}

static GgufModel deepseek(bool old_widths) {
  GgufModel model("deepseek2", {"attention.head_count_kv"});
  model.u32("attention.kv_lora_rank", 32).u32("attention.q_lora_rank", 24).u32("rope.dimension_count", 8);
  if (old_widths)
    model.u32("attention.key_length", 20).u32("attention.value_length", 12);
  else
    model.u32("attention.key_length", 40)
        .u32("attention.value_length", 32)
        .u32("attention.key_length_mla", 20)
        .u32("attention.value_length_mla", 12);
  model.builder.u32("deepseek2.attention.head_count_kv", old_widths ? 4 : 1);
  return model;
}
static Config expected_deepseek() {
  Config config = gguf_llama_config();
  config.n_kv_heads = 4;
  config.head_dim = 0;
  config.mla = {.kv_rank = 32, .q_rank = 24, .nope_dim = 12, .rope_dim = 8, .v_dim = 12};
  return config;
}

TEST_CASE("deepseek2: latent attention in both spellings, experts, yarn") {
  check_gguf_config(deepseek(false), expected_deepseek(), Family::deepseek_v2);
  check_gguf_config(deepseek(true), expected_deepseek(), Family::deepseek_v2);

  Config expected = expected_deepseek();
  expected.experts = {.count = 8,
                      .active = 2,
                      .ffn_dim = 16,
                      .shared_ffn_dim = 32,
                      .first_dense = 1,
                      .score = llm::RouterScore::sigmoid,
                      .normalise = true,
                      .score_bias = true,
                      .scale = 2.5,
                      .groups = 4,
                      .active_groups = 2};
  expected.rope_scaling = {
      .kind = llm::RopeScalingKind::yarn, .factor = 40, .original_max_seq_len = 64, .mscale = 0.707, .mscale_all_dim = 0.707};
  const auto with_experts = [] {
    return deepseek(false)
        .u32("expert_count", 8)
        .u32("expert_used_count", 2)
        .u32("expert_feed_forward_length", 16)
        .u32("expert_shared_count", 2)
        .u32("leading_dense_block_count", 1);
  };
  check_gguf_config(with_experts()
                        .u32("expert_group_count", 4)
                        .u32("expert_group_used_count", 2)
                        .u32("expert_gating_func", 2)
                        .flag("expert_weights_norm", true)
                        .f32("expert_weights_scale", 2.5f)
                        .zeros("blk.1.exp_probs_b.bias", {8})
                        .text("rope.scaling.type", "yarn")
                        .f32("rope.scaling.factor", 40)
                        .u32("rope.scaling.original_context_length", 64)
                        .f32("rope.scaling.yarn_log_multiplier", 0.0707f),
                    expected, Family::deepseek_v3);
  expected = expected_deepseek();
  expected.experts = {.count = 8, .active = 2, .ffn_dim = 16, .shared_ffn_dim = 32, .first_dense = 1, .normalise = false};
  check_gguf_config(with_experts(), expected, Family::deepseek_v2);
  CHECK_THAT(with_experts().u32("expert_gating_func", 3).refusal(), says("expert_gating_func' is 3, which is not known"));
  CHECK_THAT(with_experts().u32("nextn_predict_layers", 1).refusal(), says("nextn_predict_layers' is unknown"));
  CHECK_THAT(deepseek(false).f32("rope.scaling.yarn_log_multiplier", 0.1f).refusal(), says("rope.scaling.type is not yarn"));
}

TEST_CASE("deepseek2: widths that contradict each other are refused") {
  const auto with = [](std::uint32_t key, std::uint32_t value, std::uint32_t kv_heads) {
    GgufModel model("deepseek2", {"attention.head_count_kv"});
    model.u32("attention.kv_lora_rank", 32).u32("rope.dimension_count", 8).u32("attention.key_length", key);
    model.u32("attention.value_length", value).u32("attention.key_length_mla", 20).u32("attention.value_length_mla", 12);
    model.builder.u32("deepseek2.attention.head_count_kv", kv_heads);
    return model.refusal();
  };
  CHECK(with(40, 32, 1).empty());
  CHECK_THAT(with(41, 32, 1), says("do not describe one head of latents"));
  CHECK_THAT(with(40, 33, 1), says("do not describe one head of latents"));
  CHECK_THAT(with(40, 32, 4), says("do not describe one head of latents"));
}
