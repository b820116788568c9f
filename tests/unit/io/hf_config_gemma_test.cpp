// Published config.json of Gemma, Gemma 2 and Gemma 3, in both spellings.
#include <llm/io/hf_config_families.hpp>

#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/hf_config.hpp>

using llm::Config, llm::Family, llm::NormPosition;
using llm_test::changed, llm_test::check_model, llm_test::differences, llm_test::v5_of;

static constexpr std::string_view gemma_2b = R"({
  "architectures": ["GemmaForCausalLM"], "attention_bias": false, "head_dim": 256, "hidden_act": "gelu", "hidden_activation": null,
  "hidden_size": 2048, "intermediate_size": 16384, "max_position_embeddings": 8192, "model_type": "gemma", "num_attention_heads": 8,
  "num_hidden_layers": 18, "num_key_value_heads": 1, "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "vocab_size": 256000})";
static constexpr std::string_view gemma2_2b = R"({
  "architectures": ["Gemma2ForCausalLM"], "attention_bias": false, "attn_logit_softcapping": 50.0, "cache_implementation": "hybrid",
  "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
  "hidden_size": 2304, "intermediate_size": 9216, "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 8,
  "num_hidden_layers": 26, "num_key_value_heads": 4, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_theta": 10000.0,
  "sliding_window": 4096, "vocab_size": 256000})";
static constexpr std::string_view gemma3_1b = R"({
  "architectures": ["Gemma3ForCausalLM"], "attention_bias": false, "attn_logit_softcapping": null, "final_logit_softcapping": null,
  "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152, "intermediate_size": 6912,
  "max_position_embeddings": 32768, "model_type": "gemma3_text", "num_attention_heads": 4, "num_hidden_layers": 26,
  "num_key_value_heads": 1, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000, "rope_scaling": null,
  "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6, "vocab_size": 262144})";

static Config gemma_config() {
  Config c{.vocab_size = 256000, .d_model = 2048, .n_layers = 18, .n_heads = 8, .n_kv_heads = 1, .head_dim = 256, .ffn_dim = 16384};
  c.max_seq_len = 8192;
  c.norm_eps = 1e-6;
  c.norm_rounding = llm::Rounding::gain_then_round;
  c.mlp = llm::Mlp::geglu_tanh;
  c.tie_embeddings = c.norm_gain_offset = c.scale_embeddings = true;
  return c;
}

TEST_CASE("Gemma 2B, whose file says gelu and means its tanh form") {
  const auto v5 = v5_of(gemma_2b, R"({"rope_theta": 10000.0, "rope_type": "default"})",
                        R"(, "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": true, "use_bidirectional_attention": null)");
  check_model(Family::gemma, gemma_config(), 2506172416, gemma_2b, v5);
}

TEST_CASE("Gemma 2 2B and the scale of 27B's scores") {
  Config c = gemma_config();
  c.d_model = 2304;
  c.n_layers = 26;
  c.n_kv_heads = 4;
  c.ffn_dim = 9216;
  c.norm_position = NormPosition::sandwich;
  c.sliding_window = 4096;
  c.full_attention_every = 2;
  c.attention_softcap = 50.0;
  c.logit_softcap = 30.0;
  std::string types;
  for (int i = 0; i < 13; ++i) types += std::string(i == 0 ? "" : ", ") + R"("sliding_attention", "full_attention")";
  const auto v5 = v5_of(gemma2_2b, R"({"rope_theta": 10000.0, "rope_type": "default"})", R"(, "layer_types": [)" + types + "]");
  check_model(Family::gemma2, c, 2614341888, gemma2_2b, v5);
  const auto missing = R"({"attn_logit_softcapping": "REMOVED", "final_logit_softcapping": "REMOVED", "sliding_window": "REMOVED",
                           "query_pre_attn_scalar": "REMOVED", "head_dim": "REMOVED", "num_key_value_heads": "REMOVED"})";
  CHECK(differences(changed(gemma2_2b, missing), c) == "");
  c.attention_scale = 1.0 / 12.0;
  c.attention_softcap = c.logit_softcap = 0.0;
  const auto scaled = R"({"query_pre_attn_scalar": 144, "attn_logit_softcapping": null, "final_logit_softcapping": null})";
  CHECK(differences(changed(gemma2_2b, scaled), c) == "");
}

TEST_CASE("Gemma 3 1B: two thetas, in two fields or in two objects") {
  Config c = gemma_config();
  c.vocab_size = 262144;
  c.d_model = 1152;
  c.n_layers = 26;
  c.n_heads = 4;
  c.ffn_dim = 6912;
  c.max_seq_len = 32768;
  c.norm_position = NormPosition::sandwich;
  c.qk_norm = true;
  c.sliding_window = 512;
  c.full_attention_every = 6;
  c.rope_theta = 1e6;
  c.rope_theta_window = 1e4;
  std::string types;
  for (int i = 1; i <= 26; ++i) types += std::string(i == 1 ? "" : ",") + (i % 6 != 0 ? R"("sliding_attention")" : R"("full_attention")");
  const auto v5 = v5_of(gemma3_1b, R"({"full_attention": {"rope_theta": 1000000, "rope_type": "default"},
                                       "sliding_attention": {"rope_theta": 10000, "rope_type": "default"}})",
                        R"(, "rope_local_base_freq": "REMOVED", "sliding_window_pattern": "REMOVED", "_sliding_window_pattern": 6,
                           "use_bidirectional_attention": false, "layer_types": [)" +
                            types + "]");
  check_model(Family::gemma3, c, 999885952, gemma3_1b, v5);
  const auto missing = R"({"rope_local_base_freq": "REMOVED", "rope_theta": "REMOVED", "sliding_window_pattern": "REMOVED"})";
  CHECK(differences(changed(gemma3_1b, missing), c) == "");
}
