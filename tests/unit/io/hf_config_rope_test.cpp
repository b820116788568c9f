// RoPE in config.json: every type under both keys, in both places, and what must be refused.
#include <llm/io/hf_config_rope.hpp>

#include <cmath>
#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/hf_config.hpp>

using llm::RopeScaling, llm::RopeScalingKind;
using llm_test::changed, llm_test::hf_refusal;

static auto says(const std::string& text) { return Catch::Contains(text); }

static constexpr std::string_view llama = R"({
  "model_type": "llama", "vocab_size": 128, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
  "intermediate_size": 64, "max_position_embeddings": 4096})";

static llm::Config read(std::string_view text) { return llm::parse_hf_config(text, "config.json").config; }

static llm::Config with(std::string_view changes) { return read(changed(llama, changes)); }
static std::string refusal(std::string_view changes) { return hf_refusal(changed(llama, changes)); }

/// The text for one object in both places that the versions of transformers have for it.
static std::string old_place(const std::string& object) { return R"({"rope_theta": 500000.0, "rope_scaling": )" + object + "}"; }
static std::string new_place(std::string object) {
  object.insert(1, R"("rope_theta": 500000.0, )");
  return R"({"rope_parameters": )" + object + "}";
}

static void check_scaling(const std::string& object, const RopeScaling& expected) {
  CAPTURE(object);
  for (const std::string& place : {old_place(object), new_place(object)}) {
    CHECK(with(place).rope_scaling == expected);
    CHECK(with(place).rope_theta == 500000.0);
  }
}

TEST_CASE("each RoPE type is read under both keys and in both places [rope_llama3]") {
  for (const std::string key : {"rope_type", "type"}) {
    const std::string begin = "{\"" + key + "\": ";
    check_scaling(begin + R"("default"})", {});
    check_scaling(begin + R"("linear", "factor": 4})", {.kind = RopeScalingKind::linear, .factor = 4.0});
    const std::string llama3 = R"("llama3", "factor": 32.0, "low_freq_factor": 2.0, "high_freq_factor": 5.0)";
    check_scaling(
        begin + llama3 + R"(, "original_max_position_embeddings": 8192})",
        {.kind = RopeScalingKind::llama3, .factor = 32.0, .original_max_seq_len = 8192, .low_freq_factor = 2.0, .high_freq_factor = 5.0});
    check_scaling(begin + R"("yarn", "factor": 4.0, "original_max_position_embeddings": 1024})",
                  {.kind = RopeScalingKind::yarn, .factor = 4.0, .original_max_seq_len = 1024});
  }
  check_scaling(R"({"rope_type": "linear", "type": "linear", "factor": 2.0})", {.kind = RopeScalingKind::linear, .factor = 2.0});
}

TEST_CASE("an unknown RoPE type is refused under both keys and in both places [rope_llama3]") {
  for (const std::string type : {"dynamic", "longrope", "su", "mrope", "proportional", "ntk", "Llama3", ""})
    for (const std::string key : {"rope_type", "type"})
      for (const std::string field : {"rope_scaling", "rope_parameters"}) {
        const auto text = refusal("{\"" + field + "\": {\"" + key + "\": \"" + type + R"(", "factor": 2.0, "short_factor": [1.0]}})");
        CHECK_THAT(text, says(field + "." + key + " is '" + type + "', expected 'default', 'linear', 'llama3' or 'yarn'"));
      }
  CHECK_THAT(refusal(R"({"rope_scaling": {"rope_type": 3}})"), says("rope_scaling.rope_type is 3, expected a string"));
  CHECK_THAT(refusal(R"({"rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2.0}})"),
             says("rope_scaling.rope_type is 'linear', but rope_scaling.type, which means the same, is 'yarn'"));
}

TEST_CASE("YaRN's numbers, and the defaults of those that are missing, null or 0") {
  check_scaling(R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024, "beta_fast": 16, "beta_slow": 2.0,
                    "attention_factor": 1.5, "truncate": false, "finetuned": true})",
                {.kind = RopeScalingKind::yarn,
                 .factor = 4.0,
                 .original_max_seq_len = 1024,
                 .beta_fast = 16.0,
                 .beta_slow = 2.0,
                 .attention_factor = 1.5,
                 .truncate = false});
  check_scaling(R"({"rope_type": "yarn", "factor": null, "original_max_position_embeddings": 512, "beta_fast": null, "beta_slow": 0,
                    "attention_factor": null, "truncate": null, "mscale": null})",
                {.kind = RopeScalingKind::yarn, .factor = 8.0, .original_max_seq_len = 512});
  // Without latent attention mscale and mscale_all_dim give a factor of cos and sin, and only together.
  RopeScaling expected{.kind = RopeScalingKind::yarn, .factor = 8.0, .original_max_seq_len = 512};
  const std::string begin = R"({"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512, )";
  check_scaling(begin + R"("mscale": 0.9})", expected);
  check_scaling(begin + R"("mscale_all_dim": 0.9})", expected);
  expected.attention_factor = (0.1 * std::log(8.0) + 1.0) / (0.08 * std::log(8.0) + 1.0);
  const auto read_back = with(old_place(begin + R"("mscale": 1.0, "mscale_all_dim": 0.8})")).rope_scaling;
  CHECK(read_back.attention_factor == Approx(expected.attention_factor).epsilon(1e-14));
  CHECK(read_back.mscale == 0.0);
  CHECK(read_back.mscale_all_dim == 0.0);
}

TEST_CASE("the length of the first training may stand in the config, or be max_position_embeddings") {
  const std::string yarn = R"("rope_scaling": {"type": "yarn", "factor": 2.0})";
  CHECK(with("{" + yarn + R"(, "original_max_position_embeddings": 1024})").rope_scaling.original_max_seq_len == 1024);
  CHECK(with("{" + yarn + "}").rope_scaling.original_max_seq_len == 4096);
  CHECK_THAT(refusal(R"({"original_max_position_embeddings": 1024,
                         "rope_scaling": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 2048}})"),
             says("rope_scaling.original_max_position_embeddings is 2048, expected 1024"));
  CHECK_THAT(refusal(R"({"rope_scaling": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 8192.0}})"),
             says("rope_scaling.original_max_position_embeddings is 8192.0, expected an integer"));
}

TEST_CASE("no RoPE fields, null or an empty object mean plain RoPE with the default theta") {
  for (const char* changes : {"{}", R"({"rope_scaling": null})", R"({"rope_scaling": {}})", R"({"rope_parameters": {}})",
                              R"({"rope_parameters": null, "rope_theta": 10000})"}) {
    CHECK(with(changes).rope_theta == 10000.0);
    CHECK(with(changes).rope_scaling == RopeScaling{});
  }
  // Files may have both places when they say the same.
  const auto both = R"({"rope_theta": 7.0, "rope_scaling": {"type": "linear", "factor": 2},
                        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 7}})";
  CHECK(with(both).rope_scaling.factor == 2.0);
  CHECK(with(both).rope_theta == 7.0);
}

TEST_CASE("RoPE fields that are missing, wrong or contradict each other are refused") {
  const auto scaling = [](const std::string& object) { return refusal(R"({"rope_scaling": )" + object + "}"); };
  CHECK_THAT(scaling(R"({"type": "linear"})"), says("rope_scaling.factor is missing, expected a number greater than 0"));
  CHECK_THAT(scaling(R"({"type": "linear", "factor": 0})"), says("rope_scaling.factor is 0, expected a number greater than 0"));
  CHECK_THAT(scaling(R"({"type": "linear", "factor": "2"})"), says("rope_scaling.factor is '2', expected a number greater than 0"));
  CHECK_THAT(scaling(R"({"factor": 8.0})"), says("rope_scaling.factor is 8.0, expected none, since the RoPE type is 'default'"));
  CHECK_THAT(scaling(R"({"type": "llama3", "factor": 8.0, "high_freq_factor": 4.0})"), says("rope_scaling.low_freq_factor is missing"));
  CHECK_THAT(scaling(R"({"type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 4.0})"),
             says("rope_scaling.high_freq_factor must be"));
  CHECK_THAT(scaling(R"({"type": "yarn"})"), says("rope_scaling.factor is missing"));
  CHECK_THAT(scaling(R"({"type": "yarn", "factor": 2.0, "attention_factor": 0})"), says("rope_scaling.attention_factor is 0, expected"));
  CHECK_THAT(scaling(R"({"type": "yarn", "factor": 2.0, "beta_fast": -1})"), says("rope_scaling.beta_fast is -1, expected"));
  CHECK_THAT(scaling(R"({"type": "yarn", "factor": 2.0, "beta_fast": 0.5})"), says("rope_scaling.beta_fast must be"));
  CHECK_THAT(scaling(R"({"type": "yarn", "factor": 2.0, "truncate": 1})"), says("rope_scaling.truncate is 1, expected true or false"));
  CHECK_THAT(scaling(R"({"type": "yarn", "factor": 2.0, "llama_4_scaling_beta": 0.1})"),
             says("rope_scaling.llama_4_scaling_beta is 0.1, expected none"));
  CHECK_THAT(scaling("[]"), says("rope_scaling is an array, expected an object"));
  CHECK_THAT(scaling(R"("linear")"), says("rope_scaling is 'linear', expected an object"));
  CHECK_THAT(refusal(R"({"rope_theta": 0})"), says("rope_theta is 0, expected a number greater than 0"));
  CHECK_THAT(refusal(R"({"rope_theta": "1e4"})"), says("rope_theta is '1e4', expected a number greater than 0"));
  CHECK_THAT(refusal(R"({"rope_theta": 1e4, "rope_parameters": {"rope_theta": 2e4}})"), says("rope_theta is 10000.0, expected 20000"));
  CHECK_THAT(refusal(R"({"rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"type": "linear", "factor": 4}})"),
             says("rope_scaling and rope_parameters contradict each other"));
  CHECK_THAT(refusal(R"({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}})"), says("expected one object for all layers"));
  CHECK_THAT(refusal(R"({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}})"),
             says("partial_rotary_factor is 0.5, expected 1"));
}

static constexpr std::string_view gemma3 = R"({
  "model_type": "gemma3_text", "vocab_size": 128, "hidden_size": 32, "num_hidden_layers": 6, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64, "max_position_embeddings": 4096, "sliding_window": 16})";

TEST_CASE("Gemma 3 scales the layers without a window alone") {
  const auto v4 = R"({"rope_scaling": {"rope_type": "linear", "factor": 8.0}, "rope_theta": 2e6, "rope_local_base_freq": 2e4})";
  const auto v5 = R"({"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 2e6},
                                          "sliding_attention": {"rope_type": "default", "rope_theta": 2e4}}})";
  for (const char* changes : {v4, v5}) {
    const auto c = read(changed(gemma3, changes));
    CHECK(c.rope_scaling == RopeScaling{.kind = RopeScalingKind::linear, .factor = 8.0});
    CHECK(c.rope_theta == 2e6);
    CHECK(c.rope_theta_window == 2e4);
  }
  const auto partly = read(changed(gemma3, R"({"rope_parameters": {"full_attention": {"rope_theta": 3e6}, "sliding_attention": null}})"));
  CHECK(partly.rope_theta == 3e6);
  CHECK(partly.rope_theta_window == 1e4);
}

TEST_CASE("Gemma 3: what a Config cannot say of two kinds of layers is refused") {
  const auto refused = [](std::string_view changes) { return hf_refusal(changed(gemma3, changes)); };
  CHECK_THAT(refused(R"({"rope_parameters": {"sliding_attention": {"rope_type": "linear", "factor": 2.0}}})"),
             says("rope_parameters.sliding_attention is scaled"));
  CHECK_THAT(refused(R"({"rope_parameters": {"full_attention": {"rope_type": "dynamic", "factor": 2.0}}})"),
             says("rope_parameters.full_attention.rope_type is 'dynamic', expected"));
  CHECK_THAT(refused(R"({"rope_parameters": {"rope_theta": 1e6}})"), says("rope_parameters.rope_theta is 1000000.0, expected"));
  CHECK_THAT(refused(R"({"rope_parameters": {"full_attention": {"rope_theta": 1e6}}, "rope_theta": 2e6})"),
             says("rope_theta is 2000000.0, expected 1e+06"));
  CHECK_THAT(refused(R"({"rope_parameters": {"full_attention": {"partial_rotary_factor": 0.5}}})"), says("partial_rotary_factor is not 1"));
}

TEST_CASE("a part of each head is rotated in GPT-NeoX and Phi-3 alone") {
  const auto neox = [](std::string_view changes) {
    return changed(changed(llama, R"({"model_type": "gpt_neox", "hidden_size": 64})"), changes);
  };
  CHECK(read(neox(R"({"rotary_pct": 0.5})")).rope_dim == 8);
  CHECK(read(neox(R"({"rotary_pct": 1.0})")).rope_dim == 0);
  CHECK(read(neox(R"({"partial_rotary_factor": 0.5, "rope_theta": 7.0})")).rope_dim == 8);
  CHECK(read(neox(R"({"partial_rotary_factor": 0.5, "rope_theta": 7.0})")).rope_theta == 7.0);
  CHECK_THAT(hf_refusal(neox(R"({"rotary_pct": 1.5})")), says("the share of a head that is rotated is 1.5, expected at most 1"));
  CHECK_THAT(hf_refusal(neox(R"({"rotary_pct": 0.01})")), says("at least one pair of 16 dimensions"));
  CHECK_THAT(hf_refusal(neox(R"({"rotary_pct": 0.2})")), says("must be even"));
  CHECK_THAT(hf_refusal(neox(R"({"rotary_pct": 0.25, "rope_parameters": {"partial_rotary_factor": 0.5}})")),
             says("rotary_pct is 0.25, expected 0.5"));
  const auto phi3 = changed(llama, R"({"model_type": "phi3", "rope_scaling": {"type": "linear", "factor": 2.0}})");
  CHECK_THAT(hf_refusal(phi3), says("the RoPE parameters ask for a scaling that Phi-3 does not have"));
}
