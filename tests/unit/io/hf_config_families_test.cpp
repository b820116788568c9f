// Published config.json of every family, as transformers 4 and as transformers 5 write them, give the expected Config.
#include <llm/io/hf_config_families.hpp>

#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/hf_config.hpp>

using llm::Config, llm::Family, llm::Mlp, llm::Norm, llm::NormPosition, llm::Position, llm::Rounding, llm::RopeScalingKind;
using llm_test::changed, llm_test::check_model, llm_test::differences, llm_test::v5_of;

static constexpr std::string_view llama_31_8b = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
  "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
                   "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128256})";

TEST_CASE("Llama 3.1 8B and 3.2 1B") {
  Config c{.vocab_size = 128256, .d_model = 4096, .n_layers = 32, .n_heads = 32, .n_kv_heads = 8, .ffn_dim = 14336};
  c.max_seq_len = 131072;
  c.rope_theta = 500000.0;
  c.rope_scaling = {.kind = RopeScalingKind::llama3, .factor = 8.0, .original_max_seq_len = 8192};
  const std::string v5 = v5_of(llama_31_8b, R"({"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "rope_type": "llama3",
                                              "original_max_position_embeddings": 8192, "rope_theta": 500000.0}, "head_dim": 128)");
  check_model(Family::llama, c, 8030261248, llama_31_8b, v5);

  const auto small = R"({"hidden_size": 2048, "num_hidden_layers": 16, "intermediate_size": 8192, "head_dim": 64,
                         "tie_word_embeddings": true})";
  c.d_model = 2048;
  c.n_layers = 16;
  c.ffn_dim = 8192;
  c.tie_embeddings = true;
  check_model(Family::llama, c, 1235814400, changed(llama_31_8b, small), changed(v5, small));
}

TEST_CASE("Llama 2: a file without theta, grouping and tying means the old defaults") {
  const auto text = changed(llama_31_8b, R"({"rope_theta": "REMOVED", "rope_scaling": null, "num_key_value_heads": "REMOVED",
                                             "tie_word_embeddings": "REMOVED", "rms_norm_eps": "REMOVED", "mlp_bias": "REMOVED",
                                             "attention_bias": "REMOVED", "vocab_size": 32000})");
  Config c{.vocab_size = 32000, .d_model = 4096, .n_layers = 32, .n_heads = 32, .ffn_dim = 14336, .max_seq_len = 131072};
  c.norm_eps = 1e-6;
  CHECK(differences(text, c) == "");
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = true;
  CHECK(differences(changed(text, R"({"attention_bias": true, "mlp_bias": true})"), c) == "");
}

static constexpr std::string_view mistral_7b = R"({
  "architectures": ["MistralForCausalLM"], "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
  "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": false,
  "vocab_size": 32000})";

TEST_CASE("Mistral 7B and Mixtral 8x7B") {
  Config c{.vocab_size = 32000, .d_model = 4096, .n_layers = 32, .n_heads = 32, .n_kv_heads = 8, .ffn_dim = 14336};
  c.max_seq_len = 32768;
  c.sliding_window = 4096;
  const auto v5 = v5_of(mistral_7b, R"({"rope_theta": 10000.0, "rope_type": "default"})", R"(, "head_dim": 128)");
  check_model(Family::mistral, c, 7241732096, mistral_7b, v5);
  // Missing: the class's defaults, a window among them. Null: no window.
  CHECK(differences(changed(mistral_7b, R"({"sliding_window": "REMOVED", "num_key_value_heads": "REMOVED"})"), c) == "");
  c.sliding_window = 0;
  CHECK(differences(changed(mistral_7b, R"({"sliding_window": null, "head_dim": null})"), c) == "");

  c.rope_theta = 1e6;
  c.experts = {.count = 8, .active = 2};
  const auto experts = R"({"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "sliding_window": null,
                           "num_local_experts": 8, "num_experts_per_tok": 2, "router_aux_loss_coef": 0.02, "rope_theta": 1e6})";
  const auto mixtral = changed(mistral_7b, experts);
  check_model(Family::mixtral, c, 46702792704, mixtral, v5_of(mixtral, R"({"rope_theta": 1000000.0, "rope_type": "default"})"));
  CHECK(differences(changed(mixtral, R"({"num_local_experts": "REMOVED", "num_experts": 8, "rope_theta": "REMOVED"})"), c) == "");
}

TEST_CASE("The loss that balances experts is read where the file switches it on") {
  const auto mixtral = changed(mistral_7b, R"({"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "sliding_window": null,
                                               "num_local_experts": 8, "num_experts_per_tok": 2, "router_aux_loss_coef": 0.02})");
  const auto coefficient = [&](std::string_view change) {
    return llm::parse_hf_config(changed(mixtral, change), "config.json").config.experts.router_aux_loss_coef;
  };
  CHECK(coefficient("{}") == 0.0);
  CHECK(coefficient(R"({"output_router_logits": false})") == 0.0);
  CHECK(coefficient(R"({"output_router_logits": true})") == 0.02);
  CHECK(coefficient(R"({"output_router_logits": true, "router_aux_loss_coef": "REMOVED"})") == 0.001);
  CHECK(coefficient(R"({"output_router_logits": true, "router_aux_loss_coef": 0})") == 0.0);
  CHECK_THROWS_WITH(coefficient(R"({"router_aux_loss_coef": -1})"), Catch::Contains("a number of at least 0"));
}

static constexpr std::string_view qwen25_05b = R"({
  "architectures": ["Qwen2ForCausalLM"], "hidden_act": "silu", "hidden_size": 896, "intermediate_size": 4864,
  "max_position_embeddings": 32768, "max_window_layers": 24, "model_type": "qwen2", "num_attention_heads": 14,
  "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768,
  "tie_word_embeddings": true, "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936})";

TEST_CASE("Qwen2.5 0.5B has biases that its file does not name") {
  Config c{.vocab_size = 151936, .d_model = 896, .n_layers = 24, .n_heads = 14, .n_kv_heads = 2, .ffn_dim = 4864};
  c.max_seq_len = 32768;
  c.rope_theta = 1e6;
  c.norm_eps = 1e-6;
  c.tie_embeddings = c.qkv_bias = true;
  std::string types = R"("full_attention")";
  for (int i = 1; i < 24; ++i) types += R"(, "full_attention")";
  const auto v5 = v5_of(qwen25_05b, R"({"rope_theta": 1000000.0, "rope_type": "default"})",
                        R"(, "sliding_window": null, "layer_types": [)" + types + "]");
  check_model(Family::qwen2, c, 494032768, qwen25_05b, v5);
  c.tie_embeddings = false;
  CHECK(differences(changed(qwen25_05b, R"({"tie_word_embeddings": "REMOVED"})"), c) == "");
}

static constexpr std::string_view qwen3_06b = R"({
  "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024,
  "intermediate_size": 3072, "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3",
  "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null,
  "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})";

TEST_CASE("Qwen3 0.6B and 30B-A3B") {
  Config c{.vocab_size = 151936, .d_model = 1024, .n_layers = 28, .n_heads = 16, .n_kv_heads = 8, .head_dim = 128, .ffn_dim = 3072};
  c.max_seq_len = 40960;
  c.rope_theta = 1e6;
  c.norm_eps = 1e-6;
  c.tie_embeddings = c.qk_norm = true;
  const auto rope = R"({"rope_theta": 1000000, "rope_type": "default"})";
  check_model(Family::qwen3, c, 596049920, qwen3_06b, v5_of(qwen3_06b, rope));
  CHECK(differences(changed(qwen3_06b, R"({"head_dim": "REMOVED"})"), c) == "");  // 128, not hidden_size / num_attention_heads

  const auto moe = changed(qwen3_06b, R"({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "decoder_sparse_step": 1,
      "hidden_size": 2048, "intermediate_size": 6144, "max_window_layers": 48, "mlp_only_layers": [], "moe_intermediate_size": 768,
      "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
      "num_key_value_heads": 4, "tie_word_embeddings": false})");
  c.d_model = 2048;
  c.ffn_dim = 6144;
  c.n_heads = 32;
  c.n_kv_heads = 4;
  c.n_layers = 48;
  c.tie_embeddings = false;
  c.experts = {.count = 128, .active = 8, .ffn_dim = 768};
  const auto v5 = changed(v5_of(moe, rope), R"({"num_experts": "REMOVED", "num_local_experts": 128})");
  check_model(Family::qwen3_moe, c, 30532122624, moe, v5);
  c.experts.normalise = false;
  CHECK(differences(changed(moe, R"({"norm_topk_prob": "REMOVED"})"), c) == "");
  // As Qwen3-Coder's file says it.
  CHECK(differences(changed(moe, R"({"norm_topk_prob": false, "use_qk_norm": true, "qkv_bias": false,
                                     "shared_expert_intermediate_size": 0})"),
                    c) == "");
}

TEST_CASE("Qwen1.5-MoE and OLMoE") {
  const auto qwen = changed(qwen3_06b, R"({"architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe", "decoder_sparse_step": 1,
      "attention_bias": "REMOVED", "head_dim": "REMOVED", "hidden_size": 2048, "intermediate_size": 5632, "max_position_embeddings": 8192,
      "max_window_layers": 21, "moe_intermediate_size": 1408, "norm_topk_prob": false, "num_attention_heads": 16, "num_experts": 60,
      "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 16, "shared_expert_intermediate_size": 5632,
      "sliding_window": 32768, "tie_word_embeddings": false})");
  Config c{.vocab_size = 151936, .d_model = 2048, .n_layers = 24, .n_heads = 16, .n_kv_heads = 16, .ffn_dim = 5632, .max_seq_len = 8192};
  c.rope_theta = 1e6;
  c.norm_eps = 1e-6;
  c.qkv_bias = true;
  c.experts = {.count = 60, .active = 4, .ffn_dim = 1408, .shared_ffn_dim = 5632, .shared_gate = true, .normalise = false};
  CHECK(differences(qwen, c) == "");
  CHECK(llm::parameter_count(c).total == 14315784192);
  CHECK(differences(changed(qwen, R"({"moe_intermediate_size": "REMOVED", "num_experts": "REMOVED", "sliding_window": 0})"), c) == "");
  CHECK_THAT(llm_test::hf_refusal(changed(qwen, R"({"use_sliding_window": true})")), Catch::Contains("use_sliding_window is true"));

  const auto olmoe = changed(qwen3_06b, R"({"architectures": ["OlmoeForCausalLM"], "model_type": "olmoe", "head_dim": "REMOVED",
      "clip_qkv": null, "hidden_size": 2048, "intermediate_size": 1024, "max_position_embeddings": 4096, "norm_topk_prob": false,
      "num_attention_heads": 16, "num_experts": 64, "num_experts_per_tok": 8, "num_hidden_layers": 16, "num_key_value_heads": 16,
      "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": false, "vocab_size": 50304})");
  c = {.vocab_size = 50304, .d_model = 2048, .n_layers = 16, .n_heads = 16, .n_kv_heads = 16, .ffn_dim = 1024, .max_seq_len = 4096};
  c.qk_norm = c.qk_norm_joint = true;
  c.experts = {.count = 64, .active = 8, .normalise = false};
  CHECK(differences(olmoe, c) == "");
  CHECK(llm::parameter_count(c).total == 6919161856);
  CHECK_THAT(llm_test::hf_refusal(changed(olmoe, R"({"clip_qkv": 8.0})")), Catch::Contains("clip_qkv"));
}

static constexpr std::string_view gpt2 = R"({
  "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
  "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
  "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257})";

TEST_CASE("GPT-2") {
  Config c{.vocab_size = 50257, .d_model = 768, .n_layers = 12, .n_heads = 12, .ffn_dim = 3072, .max_seq_len = 1024};
  c.tie_embeddings = true;
  c.norm = Norm::layer_norm;
  c.position = Position::learned;
  c.mlp = Mlp::gelu_tanh;
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = true;
  const auto v5 = changed(gpt2, R"({"add_cross_attention": false, "n_inner": null, "reorder_and_upcast_attn": false,
                                    "scale_attn_by_inverse_layer_idx": false, "scale_attn_weights": true, "tie_word_embeddings": true})");
  check_model(Family::gpt2, c, 124439808, gpt2, v5);
  const auto aliases = R"({"n_embd": "REMOVED", "n_head": "REMOVED", "n_layer": "REMOVED", "n_positions": "REMOVED", "hidden_size": 768,
                           "num_attention_heads": 12, "num_hidden_layers": 12, "max_position_embeddings": 1024})";
  CHECK(differences(changed(gpt2, aliases), c) == "");
  c.tie_embeddings = false;
  c.ffn_dim = 1000;
  c.mlp = Mlp::gelu_erf;
  c.attention_scale = 1.0;
  const auto odd = R"({"tie_word_embeddings": false, "n_inner": 1000, "activation_function": "gelu", "scale_attn_weights": false})";
  CHECK(differences(changed(gpt2, odd), c) == "");
}

static constexpr std::string_view phi3_mini = R"({
  "architectures": ["Phi3ForCausalLM"], "attention_bias": false, "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config"},
  "hidden_act": "silu", "hidden_size": 3072, "intermediate_size": 8192, "max_position_embeddings": 4096, "model_type": "phi3",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "original_max_position_embeddings": 4096,
  "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0, "sliding_window": 2047, "tie_word_embeddings": false,
  "vocab_size": 32064})";

TEST_CASE("Phi-3 mini 4k") {
  Config c{.vocab_size = 32064, .d_model = 3072, .n_layers = 32, .n_heads = 32, .ffn_dim = 8192, .max_seq_len = 4096};
  c.sliding_window = 2047;
  const auto v5 = v5_of(phi3_mini, R"({"partial_rotary_factor": 1.0, "rope_theta": 10000.0, "rope_type": "default"})");
  check_model(Family::phi3, c, 3821079552, phi3_mini, v5);
  c.rope_dim = 72;
  CHECK(differences(changed(phi3_mini, R"({"partial_rotary_factor": 0.75})"), c) == "");
}

static constexpr std::string_view olmo2_7b = R"({
  "architectures": ["Olmo2ForCausalLM"], "attention_bias": false, "hidden_act": "silu", "hidden_size": 4096,
  "intermediate_size": 11008, "max_position_embeddings": 4096, "model_type": "olmo2", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 32, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 500000,
  "tie_word_embeddings": false, "vocab_size": 100352})";

TEST_CASE("OLMo 2 7B normalises what the branches give") {
  Config c{.vocab_size = 100352, .d_model = 4096, .n_layers = 32, .n_heads = 32, .ffn_dim = 11008, .max_seq_len = 4096};
  c.rope_theta = 500000.0;
  c.norm_eps = 1e-6;
  c.norm_position = NormPosition::branch;
  c.norm_rounding = Rounding::gain_then_round;
  c.qk_norm = c.qk_norm_joint = true;
  check_model(Family::olmo2, c, 7298617344, olmo2_7b, v5_of(olmo2_7b, R"({"rope_theta": 500000, "rope_type": "default"})"));
}

static constexpr std::string_view deepseek_v2_lite = R"({
  "architectures": ["DeepseekV2ForCausalLM"], "attention_bias": false, "aux_loss_alpha": 0.001, "first_k_dense_replace": 1,
  "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 10944, "kv_lora_rank": 512, "max_position_embeddings": 163840,
  "model_type": "deepseek_v2", "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 64,
  "n_shared_experts": 2, "norm_topk_prob": false, "num_attention_heads": 16, "num_experts_per_tok": 6, "num_hidden_layers": 27,
  "num_key_value_heads": 16, "pretraining_tp": 1, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "rms_norm_eps": 1e-06, "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
  "original_max_position_embeddings": 4096, "type": "yarn"}, "rope_theta": 10000, "routed_scaling_factor": 1.0,
  "scoring_func": "softmax", "seq_aux": true, "tie_word_embeddings": false, "topk_group": 1, "topk_method": "greedy",
  "v_head_dim": 128, "vocab_size": 102400})";

static Config deepseek_config() {
  Config c{.vocab_size = 102400, .d_model = 2048, .n_layers = 27, .n_heads = 16, .ffn_dim = 10944, .max_seq_len = 163840};
  c.norm_eps = 1e-6;
  c.position = Position::rope_interleaved;
  c.rope_scaling = {.kind = RopeScalingKind::yarn, .factor = 40.0, .original_max_seq_len = 4096, .mscale = 0.707, .mscale_all_dim = 0.707};
  c.mla = {.kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128};
  c.experts = {.count = 64, .active = 6, .ffn_dim = 1408, .shared_ffn_dim = 2816, .first_dense = 1, .normalise = false};
  return c;
}

TEST_CASE("DeepSeek-V2 Lite and V2") {
  Config c = deepseek_config();
  const auto v5 = v5_of(deepseek_v2_lite, R"({"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
      "original_max_position_embeddings": 4096, "rope_theta": 10000, "rope_type": "yarn", "type": "yarn"}, "head_dim": 64,
      "qk_head_dim": 192, "mlp_bias": false)");
  check_model(Family::deepseek_v2, c, 15706484224, deepseek_v2_lite, v5);
  c.experts.groups = 8;
  c.experts.active_groups = 3;
  c.experts.scale = 16.0;
  c.mla.q_rank = 1536;
  const auto large = R"({"topk_method": "group_limited_greedy", "n_group": 8, "topk_group": 3, "routed_scaling_factor": 16.0,
                         "q_lora_rank": 1536})";
  CHECK(differences(changed(deepseek_v2_lite, large), c) == "");
}

TEST_CASE("DeepSeek-V3, whose weights are quantised and whose prediction of further tokens is no part of the model") {
  const auto v4 = changed(deepseek_v2_lite, R"({"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "ep_size": 1,
      "first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_group": 8,
      "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 128, "num_experts_per_tok": 8,
      "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
      "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_group": 4, "topk_method": "noaux_tc", "vocab_size": 129280,
      "quantization_config": {"fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
      "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
                       "original_max_position_embeddings": 4096, "type": "yarn"}})");
  Config c = deepseek_config();
  c.vocab_size = 129280;
  c.d_model = 7168;
  c.n_layers = 61;
  c.n_heads = 128;
  c.ffn_dim = 18432;
  c.rope_scaling.mscale = c.rope_scaling.mscale_all_dim = 1.0;
  c.mla.q_rank = 1536;
  c.experts = {.count = 256, .active = 8, .ffn_dim = 2048, .shared_ffn_dim = 2048, .first_dense = 3};
  c.experts.score = llm::RouterScore::sigmoid;
  c.experts.score_bias = true;
  c.experts.scale = 2.5;
  c.experts.groups = 8;
  c.experts.active_groups = 4;
  const auto v5 = v5_of(v4, R"({"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
      "original_max_position_embeddings": 4096, "rope_theta": 10000, "rope_type": "yarn"}, "rope_interleave": true,
      "num_local_experts": 256, "n_routed_experts": 256, "scoring_func": "REMOVED", "topk_method": "REMOVED")");
  check_model(Family::deepseek_v3, c, 671026419200, v4, v5);
  c.position = Position::rope_half;
  CHECK(differences(changed(v4, R"({"rope_interleave": false})"), c) == "");
}

static constexpr std::string_view pythia_160m = R"({
  "architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072,
  "layer_norm_eps": 1e-05, "max_position_embeddings": 2048, "model_type": "gpt_neox", "num_attention_heads": 12,
  "num_hidden_layers": 12, "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": false, "use_parallel_residual": true,
  "vocab_size": 50304})";

TEST_CASE("Pythia 160M") {
  Config c{.vocab_size = 50304, .d_model = 768, .n_layers = 12, .n_heads = 12, .ffn_dim = 3072, .max_seq_len = 2048};
  c.norm = Norm::layer_norm;
  c.rope_dim = 16;
  c.mlp = Mlp::gelu_erf;
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = c.parallel_residual = true;
  const auto v5 = v5_of(pythia_160m, R"({"partial_rotary_factor": 0.25, "rope_theta": 10000, "rope_type": "default"})",
                        R"(, "rotary_emb_base": "REMOVED", "rotary_pct": "REMOVED", "attention_bias": true, "is_decoder": false)");
  check_model(Family::gpt_neox, c, 162322944, pythia_160m, v5);
  const auto missing = R"({"rotary_emb_base": "REMOVED", "rotary_pct": "REMOVED", "use_parallel_residual": "REMOVED",
                           "hidden_act": "REMOVED", "layer_norm_eps": "REMOVED", "tie_word_embeddings": "REMOVED"})";
  CHECK(differences(changed(pythia_160m, missing), c) == "");
  c.mlp = Mlp::gelu_tanh;
  c.parallel_residual = c.qkv_bias = c.attention_out_bias = false;
  c.rope_dim = 0;
  c.rope_theta = 25000.0;
  const auto odd = R"({"hidden_act": "gelu_fast", "use_parallel_residual": false, "attention_bias": false, "rotary_pct": 1,
                       "rotary_emb_base": 25000})";
  CHECK(differences(changed(pythia_160m, odd), c) == "");
}

static constexpr std::string_view starcoder2_3b = R"({
  "activation_function": "gelu", "architectures": ["Starcoder2ForCausalLM"], "hidden_act": "gelu_pytorch_tanh", "hidden_size": 3072,
  "intermediate_size": 12288, "layer_norm_epsilon": 1e-05, "max_position_embeddings": 16384, "mlp_type": "default",
  "model_type": "starcoder2", "norm_epsilon": 1e-05, "norm_type": "layer_norm", "num_attention_heads": 24, "num_hidden_layers": 30,
  "num_key_value_heads": 2, "rope_theta": 999999.4420358813, "scale_attn_weights": true, "sliding_window": 4096, "use_bias": true,
  "vocab_size": 49152})";

TEST_CASE("StarCoder2 3B") {
  Config c{.vocab_size = 49152, .d_model = 3072, .n_layers = 30, .n_heads = 24, .n_kv_heads = 2, .ffn_dim = 12288};
  c.max_seq_len = 16384;
  c.rope_theta = 999999.4420358813;
  c.tie_embeddings = true;
  c.norm = Norm::layer_norm;
  c.mlp = Mlp::gelu_tanh;
  c.sliding_window = 4096;
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = true;
  const auto v5 = v5_of(starcoder2_3b, R"({"rope_theta": 999999.4420358813, "rope_type": "default"})", R"(, "tie_word_embeddings": true)");
  check_model(Family::starcoder2, c, 3030371328, starcoder2_3b, v5);
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = false;
  CHECK(differences(changed(starcoder2_3b, R"({"use_bias": false})"), c) == "");
}
