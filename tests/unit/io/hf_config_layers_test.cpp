// Layers with and without windows, with and without experts, in config.json: what a period can say, and what is refused.
#include <llm/io/hf_config_layers.hpp>

#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/hf_config.hpp>

using llm_test::changed, llm_test::hf_refusal;

static auto says(const std::string& text) { return Catch::Contains(text); }

static std::string model(const std::string& type, std::string_view changes, int layers = 6) {
  const std::string begin = R"({"vocab_size": 128, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
      "intermediate_size": 64, "max_position_embeddings": 4096, "model_type": ")";
  return changed(begin + type + R"(", "num_hidden_layers": )" + std::to_string(layers) + "}", changes);
}

static llm::Config read(const std::string& text) { return llm::parse_hf_config(text, "config.json").config; }

/// "sfs" -> the layer_types of three layers.
static std::string types(const std::string& letters) {
  std::string list;
  for (const char c : letters)
    list += std::string(list.empty() ? "" : ", ") + (c == 's' ? R"("sliding_attention")" : R"("full_attention")");
  return R"("layer_types": [)" + list + "]";
}

/// The layers of a Config that have a window, in the same letters.
static std::string letters(const llm::Config& c) {
  std::string out;
  for (std::int64_t i = 0; i < c.n_layers; ++i) out += c.windowed_layer(i) ? 's' : 'f';
  return out;
}

TEST_CASE("layer_types that a period can say") {
  for (const std::string pattern : {"ffffff", "ssssss", "sfsfsf", "ssfssf", "sssssf", "ssssfs"}) {
    const auto c = read(model("gemma3_text", R"({"sliding_window": 16, )" + types(pattern) + "}"));
    CHECK(letters(c) == pattern);
    CHECK(c.sliding_window == (pattern == "ffffff" ? 0 : 16));
    CHECK(c.rope_theta_window == (pattern == "ffffff" ? 0.0 : 1e4));
    CHECK(letters(read(model("qwen3", R"({"use_sliding_window": true, "sliding_window": 16, )" + types(pattern) + "}"))) == pattern);
  }
}

TEST_CASE("layer_types that it cannot say, or that do not belong to the model, are refused") {
  for (const std::string pattern : {"fsssss", "ssffss", "ssfsfs", "ffffss", "sfssss"}) {
    const auto text = hf_refusal(model("gemma2", R"({"sliding_window": 16, )" + types(pattern) + "}"));
    CHECK_THAT(text, says("layers with and without a sliding window do not alternate by a period"));
  }
  const auto refusal = [](const std::string& changes) { return hf_refusal(model("gemma2", changes)); };
  CHECK_THAT(refusal("{" + types("sfsfs") + "}"), says("layer_types has 5 entries, expected 6, one for each layer"));
  CHECK_THAT(refusal("{" + types("") + "}"), says("layer_types has 0 entries, expected 6"));
  CHECK_THAT(refusal(R"({"layer_types": "full_attention"})"), says("layer_types is 'full_attention', expected an array"));
  CHECK_THAT(refusal(R"({"layer_types": [1, 1, 1, 1, 1, 1]})"), says("layer_types has 1, expected 'full_attention' or"));
  std::string chunked = types("sfsfsf");
  chunked.replace(chunked.find("sliding"), 7, "chunked");
  CHECK_THAT(refusal("{" + chunked + "}"), says("layer_types has 'chunked_attention', expected 'full_attention' or 'sliding_attention'"));
  CHECK_THAT(refusal(R"({"sliding_window": null})"), says("layers have sliding attention, but sliding_window gives no width"));
  CHECK_THAT(refusal(R"({"sliding_window": 0})"), says("sliding_window is 0, expected an integer from 1"));
  CHECK_THAT(refusal(R"({"sliding_window": -16})"), says("sliding_window is -16, expected"));
}

TEST_CASE("families without layer_types of their own may only repeat what else the file says") {
  CHECK(letters(read(model("mistral", R"({"sliding_window": 16, )" + types("ssssss") + "}"))) == "ssssss");
  CHECK(letters(read(model("mistral", R"({"sliding_window": null, )" + types("ffffff") + "}"))) == "ffffff");
  CHECK(letters(read(model("llama", "{" + types("ffffff") + "}"))) == "ffffff");
  const std::string text = "layer_types contradicts the family's other fields about sliding windows";
  CHECK_THAT(hf_refusal(model("mistral", R"({"sliding_window": 16, )" + types("sfsfsf") + "}")), says(text));
  CHECK_THAT(hf_refusal(model("mistral", R"({"sliding_window": null, )" + types("ssssss") + "}")), says(text));
  CHECK_THAT(hf_refusal(model("llama", "{" + types("sfsfsf") + "}")), says(text));
}

TEST_CASE("Qwen's windows: only when asked for, from max_window_layers on") {
  const auto qwen = [](const std::string& changes) { return model("qwen2", changes); };
  CHECK(letters(read(qwen(R"({"sliding_window": 16, "max_window_layers": 0})"))) == "ffffff");
  CHECK(letters(read(qwen(R"({"use_sliding_window": true, "sliding_window": 16, "max_window_layers": 0})"))) == "ssssss");
  CHECK(letters(read(qwen(R"({"use_sliding_window": true, "sliding_window": 16, "max_window_layers": 6})"))) == "ffffff");
  CHECK(letters(read(qwen(R"({"use_sliding_window": true, "sliding_window": 16})"))) == "ffffff");  // from layer 28 on
  CHECK(letters(read(qwen(R"({"use_sliding_window": true, "sliding_window": null, "max_window_layers": 0})"))) == "ffffff");
  CHECK(read(qwen(R"({"use_sliding_window": true, "max_window_layers": 0})")).sliding_window == 4096);
  CHECK_THAT(hf_refusal(qwen(R"({"use_sliding_window": true, "sliding_window": 16, "max_window_layers": 3})")),
             says("do not alternate by a period"));
  CHECK_THAT(hf_refusal(qwen("{" + types("sfsfsf") + "}")), says("sliding_window gives no width"));
  const auto moe = [](const std::string& changes) { return model("qwen3_moe", changes); };
  CHECK(letters(read(moe(R"({"sliding_window": 16})"))) == "ffffff");
  CHECK(letters(read(moe(R"({"use_sliding_window": true, "sliding_window": 16})"))) == "ssssss");
  CHECK_THAT(hf_refusal(moe(R"({"use_sliding_window": true, "sliding_window": 16, "max_window_layers": 3})")),
             says("max_window_layers is 3, expected 0"));
}

TEST_CASE("Gemma's windows without layer_types: every second layer, or sliding_window_pattern") {
  CHECK(letters(read(model("gemma2", "{}"))) == "sfsfsf");
  CHECK(letters(read(model("gemma3_text", "{}"))) == "sssssf");
  CHECK(letters(read(model("gemma3_text", R"({"sliding_window_pattern": 3})"))) == "ssfssf");
  CHECK(letters(read(model("gemma3_text", R"({"sliding_window_pattern": 1, "sliding_window": null})"))) == "ffffff");
  CHECK_THAT(hf_refusal(model("gemma3_text", R"({"sliding_window_pattern": 0})")), says("sliding_window_pattern is 0, expected"));
}

/// The layers of a Config that have experts.
static std::string expert_letters(const std::string& text) {
  const llm::Config c = read(text);
  std::string out;
  for (std::int64_t i = 0; i < c.n_layers; ++i) out += c.expert_layer(i) ? 'e' : 'd';
  return out;
}

TEST_CASE("layers with experts that first_dense and every can say") {
  const auto moe = [](const std::string& changes) { return expert_letters(model("qwen3_moe", changes)); };
  CHECK(moe("{}") == "eeeeee");
  CHECK(moe(R"({"decoder_sparse_step": 2})") == "dedede");
  CHECK(moe(R"({"decoder_sparse_step": 4})") == "dddedd");
  CHECK(moe(R"({"decoder_sparse_step": 6})") == "ddddde");
  CHECK(moe(R"({"decoder_sparse_step": 7})") == "dddddd");
  CHECK(moe(R"({"mlp_only_layers": [0, 1]})") == "ddeeee");
  CHECK(moe(R"({"mlp_only_layers": [4, 0, 2]})") == "dedede");
  CHECK(moe(R"({"mlp_only_layers": [0, 1, 2, 3, 4]})") == "ddddde");
  CHECK(moe(R"({"mlp_only_layers": [0, 1, 2, 3, 4, 5]})") == "dddddd");
  CHECK(moe(R"({"mlp_only_layers": [1], "decoder_sparse_step": 2})") == "dddede");
  CHECK(moe(R"({"mlp_only_layers": null, "num_experts": 0})") == "dddddd");
  CHECK(read(model("qwen3_moe", R"({"num_experts": 0})")).experts == llm::Experts{});
}

TEST_CASE("layers with experts that they cannot say are refused") {
  const auto refusal = [](const std::string& changes) { return hf_refusal(model("qwen3_moe", changes)); };
  for (const char* list : {"[1]", "[5]", "[0, 3]", "[1, 2, 3, 4, 5]", "[1, 3, 5]"})
    CHECK_THAT(refusal(R"({"mlp_only_layers": )" + std::string(list) + "}"),
               says("layers with and without experts do not alternate by a period"));
  CHECK_THAT(refusal(R"({"mlp_only_layers": [6]})"), says("mlp_only_layers has 6, expected numbers of layers below 6"));
  CHECK_THAT(refusal(R"({"mlp_only_layers": [-1]})"), says("mlp_only_layers has -1, expected"));
  CHECK_THAT(refusal(R"({"mlp_only_layers": 1})"), says("mlp_only_layers is 1, expected an array"));
  CHECK_THAT(refusal(R"({"decoder_sparse_step": 0})"), says("decoder_sparse_step is 0, expected"));
}

static std::string deepseek(const std::string& type, std::string_view changes) {
  const auto common = R"({"kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "q_lora_rank": null,
      "n_routed_experts": 8, "moe_intermediate_size": 16, "num_experts_per_tok": 2, "num_key_value_heads": 4, "head_dim": "REMOVED"})";
  return changed(model(type, common), changes);
}

TEST_CASE("DeepSeek's dense layers, groups and what its files may not say") {
  CHECK(expert_letters(deepseek("deepseek_v2", "{}")) == "eeeeee");
  CHECK(expert_letters(deepseek("deepseek_v2", R"({"first_k_dense_replace": 2})")) == "ddeeee");
  CHECK(expert_letters(deepseek("deepseek_v2", R"({"first_k_dense_replace": 9})")) == "dddddd");
  CHECK(expert_letters(deepseek("deepseek_v3", "{}")) == "dddeee");
  CHECK(read(deepseek("deepseek_v2", R"({"n_group": 4, "topk_group": 2})")).experts.groups == 1);  // greedy has no groups
  const auto v2 = [](const char* changes) { return hf_refusal(deepseek("deepseek_v2", changes)); };
  const auto v3 = [](const char* changes) { return hf_refusal(deepseek("deepseek_v3", changes)); };
  CHECK_THAT(v2(R"({"topk_method": "group_limited_greedy", "n_group": null, "topk_group": 1})"), says("n_group is null, expected"));
  CHECK_THAT(v2(R"({"topk_method": "noaux_tc"})"), says("topk_method is 'noaux_tc', expected 'greedy' or 'group_limited_greedy'"));
  CHECK_THAT(v2(R"({"scoring_func": "sigmoid"})"), says("scoring_func is 'sigmoid', expected 'softmax'"));
  CHECK_THAT(v2(R"({"norm_topk_prob": true})"), says("norm_topk_prob is true, expected false"));
  CHECK_THAT(v2(R"({"moe_layer_freq": 2})"), says("moe_layer_freq is 2, expected 1"));
  CHECK_THAT(v2(R"({"attention_bias": true})"), says("attention_bias is true, expected false"));
  CHECK_THAT(v2(R"({"head_dim": 5})"), says("head_dim is 5, expected qk_rope_head_dim, 4"));
  CHECK_THAT(v2(R"({"kv_lora_rank": "REMOVED"})"), says("kv_lora_rank is missing, expected an integer"));
  CHECK_THAT(v2(R"({"num_key_value_heads": 2})"), says("n_kv_heads must be 0 or n_heads"));
  CHECK_THAT(v2(R"({"rope_scaling": {"type": "linear", "factor": 2.0, "mscale_all_dim": 1.0}})"),
             says("rope_scaling.mscale_all_dim is 1.0"));
  CHECK_THAT(v3(R"({"topk_method": "greedy"})"), says("topk_method is 'greedy', expected 'noaux_tc'"));
  CHECK_THAT(v3(R"({"scoring_func": "softmax"})"), says("scoring_func is 'softmax', expected 'sigmoid'"));
  CHECK_THAT(v3(R"({"n_group": 3})"), says("experts.groups must be"));
  CHECK_THAT(v3(R"({"n_group": null})"), says("n_group is null, expected"));
  CHECK_THAT(v3(R"({"routed_scaling_factor": 0})"), says("routed_scaling_factor is 0, expected a number greater than 0"));
}
