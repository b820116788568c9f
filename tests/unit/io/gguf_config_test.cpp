// Configs from GGUF metadata: each architecture as it is written, and everything that must be an error.
#include <llm/io/gguf_config.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/model/config_fields.hpp>

#include <support/catch.hpp>
#include <support/gguf_builder.hpp>

using llm::Config;
using llm::Family;
using llm::GgufFile;
using llm_test::GgufBuilder;

namespace {

/// A model of V 10, d 64, 2 layers, 4/2 heads, ffn 96, context 128, without the keys named in `without`. Keys go without the
/// architecture's name.
class Model {
 public:
  explicit Model(std::string architecture, std::vector<std::string> without = {})
      : architecture_(std::move(architecture)), without_(std::move(without)) {
    builder.text("general.architecture", architecture_);
    u32("context_length", 128).u32("embedding_length", 64).u32("block_count", 2).u32("feed_forward_length", 96);
    u32("attention.head_count", 4).u32("attention.head_count_kv", 2);
    f32(architecture_ == "gpt2" || architecture_ == "starcoder2" ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
        1e-6f);
    if (wanted("token_embd.weight")) builder.zeros("token_embd.weight", {10, 64});
  }

  Model& u32(const std::string& key, std::uint32_t value) {
    if (wanted(key)) builder.u32(architecture_ + "." + key, value);
    return *this;
  }
  Model& f32(const std::string& key, float value) {
    if (wanted(key)) builder.f32(architecture_ + "." + key, value);
    return *this;
  }
  Model& flag(const std::string& key, bool value) {
    builder.flag(architecture_ + "." + key, value);
    return *this;
  }
  Model& text(const std::string& key, std::string_view value) {
    builder.text(architecture_ + "." + key, value);
    return *this;
  }
  Model& zeros(const std::string& name, const std::vector<std::uint64_t>& shape) {
    builder.zeros(name, shape);
    return *this;
  }

  llm::PublishedConfig read() const {
    const std::string content = builder.str();
    return llm::read_gguf_config(GgufFile::view(std::as_bytes(std::span(content)), "test.gguf"));
  }
  /// The error's text, "" when there is none.
  std::string refusal() const {
    try {
      read();
      return "";
    } catch (const llm::Error& error) {
      const std::string text = error.what();
      return text.find("test.gguf: ") == std::string::npos ? "does not name the file: " + text : text;
    }
  }

  GgufBuilder builder;

 private:
  bool wanted(const std::string& key) const { return std::find(without_.begin(), without_.end(), key) == without_.end(); }

  std::string architecture_;
  std::vector<std::string> without_;
};

/// What every model above has in common, with the choices of Llama's family but for the position.
Config common() {
  return {.vocab_size = 10,
          .d_model = 64,
          .n_layers = 2,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 16,
          .ffn_dim = 96,
          .max_seq_len = 128,
          .norm_eps = 1e-6,
          .tie_embeddings = true};
}
Config common_llama() {
  Config config = common();
  config.position = llm::Position::rope_interleaved;
  return config;
}

void check_same(const Model& model, const Config& expected, Family family) {
  const llm::PublishedConfig actual = model.read();
  CHECK(llm::config_differences(actual.config, "the file", expected, "the test") == "");
  CHECK(actual.config == expected);
  CHECK(actual.family == family);
  CHECK(actual.source == "test.gguf");
}

auto says(const std::string& text) { return Catch::Contains(text); }

std::string floats(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += llm_test::le(std::bit_cast<std::uint32_t>(value));
  return bytes;
}

}  // namespace

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
  check_same(Model("llama"), common_llama(), Family::llama);
  Config expected = common_llama();
  expected.tie_embeddings = false;
  expected.head_dim = 20;
  expected.rope_dim = 10;
  expected.rope_theta = 500000;
  expected.qkv_bias = expected.attention_out_bias = expected.mlp_bias = true;
  check_same(Model("llama")
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
  expected = common_llama();
  expected.n_kv_heads = 4;
  check_same(Model("llama", {"attention.head_count_kv"}).u32("rope.dimension_count", 16), expected, Family::llama);
}

TEST_CASE("llama with experts is Mixtral") {
  Config expected = common_llama();
  expected.experts = {.count = 8, .active = 2};
  check_same(Model("llama").u32("expert_count", 8).u32("expert_used_count", 2), expected, Family::mixtral);
  check_same(Model("llama").u32("expert_count", 0).u32("expert_used_count", 0), common_llama(), Family::llama);
  CHECK_THAT(Model("llama").u32("expert_count", 8).refusal(), says("key 'llama.expert_used_count' is missing"));
  CHECK_THAT(Model("llama").u32("expert_count", 8).u32("expert_used_count", 9).refusal(), says("test.gguf"));
}

TEST_CASE("qwen2, qwen3, qwen3moe, olmo2 and phi3 rotate halves of heads") {
  Config expected = common();
  expected.qkv_bias = true;
  check_same(Model("qwen2").zeros("blk.0.attn_q.bias", {64}), expected, Family::qwen2);

  expected = common();
  expected.qk_norm = true;
  expected.head_dim = 32;
  check_same(Model("qwen3").u32("attention.key_length", 32).u32("attention.value_length", 32), expected, Family::qwen3);
  expected.experts = {.count = 16, .active = 4, .ffn_dim = 24};
  const auto qwen3moe = [] { return Model("qwen3moe").u32("attention.key_length", 32).u32("attention.value_length", 32); };
  check_same(qwen3moe().u32("expert_count", 16).u32("expert_used_count", 4).u32("expert_feed_forward_length", 24), expected,
             Family::qwen3_moe);
  CHECK_THAT(qwen3moe().refusal(), says("key 'qwen3moe.expert_count' is missing or 0"));
  CHECK_THAT(qwen3moe().u32("expert_count", 16).u32("expert_used_count", 4).refusal(), says("expert_feed_forward_length' is missing"));

  expected = common();
  expected.norm_position = llm::NormPosition::branch;
  expected.norm_rounding = llm::Rounding::gain_then_round;
  expected.qk_norm = expected.qk_norm_joint = true;
  check_same(Model("olmo2"), expected, Family::olmo2);
  CHECK_THAT(Model("olmo2").u32("attention.sliding_window", 64).refusal(), says("key 'olmo2.attention.sliding_window' is unknown"));

  expected = common();
  expected.sliding_window = 33;
  expected.rope_dim = 12;
  check_same(
      Model("phi3").u32("attention.sliding_window", 33).u32("rope.dimension_count", 12).u32("rope.scaling.original_context_length", 128),
      expected, Family::phi3);
  CHECK_THAT(Model("phi3").zeros("rope_factors_long.weight", {8}).refusal(), says("longrope is not supported"));
}

TEST_CASE("gpt2 and starcoder2 have LayerNorm and GELU") {
  Config expected = common();
  expected.n_kv_heads = 4;
  expected.norm = llm::Norm::layer_norm;
  expected.mlp = llm::Mlp::gelu_tanh;
  expected.position = llm::Position::learned;
  expected.qkv_bias = expected.attention_out_bias = expected.mlp_bias = true;
  check_same(Model("gpt2", {"attention.head_count_kv"})
                 .zeros("blk.0.attn_qkv.bias", {192})
                 .zeros("blk.0.attn_output.bias", {64})
                 .zeros("blk.0.ffn_up.bias", {96}),
             expected, Family::gpt2);
  CHECK_THAT(Model("gpt2").f32("rope.freq_base", 10000).refusal(), says("key 'gpt2.rope.freq_base' is unknown"));

  expected = common();
  expected.norm = llm::Norm::layer_norm;
  expected.mlp = llm::Mlp::gelu_tanh;
  check_same(Model("starcoder2"), expected, Family::starcoder2);
}

TEST_CASE("gemma, gemma2 and gemma3") {
  Config expected = common();
  expected.norm_rounding = llm::Rounding::gain_then_round;
  expected.mlp = llm::Mlp::geglu_tanh;
  expected.scale_embeddings = true;
  check_same(Model("gemma"), expected, Family::gemma);

  expected.norm_position = llm::NormPosition::sandwich;
  expected.n_layers = 26;
  expected.sliding_window = 32;
  expected.full_attention_every = 2;
  expected.attention_softcap = 50;
  expected.logit_softcap = 30;
  const auto with_layers = [](const std::string& architecture, std::uint32_t layers) {
    Model model(architecture, {"block_count"});
    model.builder.u32(architecture + ".block_count", layers);
    return model;
  };
  const auto second = [&](std::uint32_t layers) {
    return with_layers("gemma2", layers)
        .f32("attn_logit_softcapping", 50)
        .f32("final_logit_softcapping", 30)
        .u32("attention.sliding_window", 32);
  };
  check_same(second(26), expected, Family::gemma2);
  expected.n_layers = 46;
  expected.attention_scale = 0.25;
  check_same(second(46), expected, Family::gemma2);
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
  check_same(third(34).u32("attention.sliding_window", 32).text("rope.scaling.type", "linear").f32("rope.scaling.factor", 8), expected,
             Family::gemma3);
  expected.rope_scaling = {};
  expected.n_layers = 62;
  expected.attention_scale = 0.25;
  expected.full_attention_every = 3;
  expected.rope_theta_window = 5000;
  check_same(third(62).u32("attention.sliding_window", 32).u32("attention.sliding_window_pattern", 3).f32("rope.freq_base_swa", 5000),
             expected, Family::gemma3);
  CHECK_THAT(third(2).refusal(), says("no published gemma3 has 2 layers"));
}

static Model deepseek(bool old_widths) {
  Model model("deepseek2", {"attention.head_count_kv"});
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
  Config config = common_llama();
  config.n_kv_heads = 4;
  config.head_dim = 0;
  config.mla = {.kv_rank = 32, .q_rank = 24, .nope_dim = 12, .rope_dim = 8, .v_dim = 12};
  return config;
}

TEST_CASE("deepseek2: latent attention in both spellings, experts, yarn") {
  check_same(deepseek(false), expected_deepseek(), Family::deepseek_v2);
  check_same(deepseek(true), expected_deepseek(), Family::deepseek_v2);

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
  check_same(with_experts()
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
  check_same(with_experts(), expected, Family::deepseek_v2);
  CHECK_THAT(with_experts().u32("expert_gating_func", 3).refusal(), says("expert_gating_func' is 3, which is not known"));
  CHECK_THAT(with_experts().u32("nextn_predict_layers", 1).refusal(), says("nextn_predict_layers' is unknown"));
  CHECK_THAT(deepseek(false).f32("rope.scaling.yarn_log_multiplier", 0.1f).refusal(), says("rope.scaling.type is not yarn"));
}

TEST_CASE("deepseek2: widths that contradict each other are refused") {
  const auto with = [](std::uint32_t key, std::uint32_t value, std::uint32_t kv_heads) {
    Model model("deepseek2", {"attention.head_count_kv"});
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

TEST_CASE("RoPE scaling by keys: none, linear, yarn; other kinds are errors [rope_llama3]") {
  const auto scaling = [](const Model& model) { return model.read().config.rope_scaling; };
  CHECK(scaling(Model("llama").text("rope.scaling.type", "none")) == llm::RopeScaling{});
  const llm::RopeScaling linear{.kind = llm::RopeScalingKind::linear, .factor = 4};
  CHECK(scaling(Model("llama").text("rope.scaling.type", "linear").f32("rope.scaling.factor", 4)) == linear);
  CHECK(scaling(Model("llama").f32("rope.scaling.factor", 4)) == linear);
  CHECK(scaling(Model("llama").f32("rope.scale_linear", 4)) == linear);
  CHECK(scaling(Model("llama").f32("rope.scale_linear", 1).flag("rope.scaling.finetuned", false)) == llm::RopeScaling{});
  const auto yarn = [] { return Model("qwen2").text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 4); };
  const llm::RopeScaling expected{
      .kind = llm::RopeScalingKind::yarn, .factor = 4, .original_max_seq_len = 32, .beta_fast = 16, .beta_slow = 2};
  CHECK(scaling(yarn()
                    .u32("rope.scaling.original_context_length", 32)
                    .f32("rope.scaling.yarn_beta_fast", 16)
                    .f32("rope.scaling.yarn_beta_slow", 2)
                    .f32("rope.scaling.yarn_attn_factor", 1)) == expected);
  CHECK_THAT(yarn().refusal(), says("key 'qwen2.rope.scaling.original_context_length' is missing"));
  CHECK_THAT(yarn().u32("rope.scaling.original_context_length", 32).f32("rope.scaling.attn_factor", 1.2f).refusal(),
             says("rope.scaling.attn_factor' is 1.2; only 1 is supported"));
  CHECK_THAT(Model("llama").text("rope.scaling.type", "longrope").refusal(), says("is 'longrope', which is not known"));
  CHECK_THAT(Model("llama").text("rope.scaling.type", "llama3").refusal(), says("is 'llama3', which is not known"));
  CHECK_THAT(Model("llama").text("rope.scaling.type", "").refusal(), says("is '', which is not known"));
  CHECK_THAT(Model("llama").u32("rope.scaling.type", 1).refusal(), says("is no string"));
}

/// The divisors that Llama 3.1's published formula gives for heads of 16, written out on its own.
static std::vector<float> llama3_divisors(double factor, double first_context, double theta) {
  std::vector<float> out;
  for (int i = 0; i < 8; ++i) {
    const double frequency = std::pow(theta, -i / 8.0), wavelength = 2 * 3.14159265358979 / frequency;
    double scaled = frequency;
    if (wavelength > first_context) {
      scaled = frequency / factor;
    } else if (wavelength >= first_context / 4) {
      const double smooth = (first_context / wavelength - 1) / 3;
      scaled = (1 - smooth) * frequency / factor + smooth * frequency;
    }
    out.push_back(static_cast<float>(frequency / scaled));
  }
  return out;
}

TEST_CASE("llama3 scaling is recognised by the tensor of factors, and only when it is the published one [rope_llama3]") {
  const auto with = [](const std::vector<float>& factors, std::uint32_t type = 0) {
    Model model("llama");
    model.f32("rope.freq_base", 500000);
    model.builder.tensor("rope_freqs.weight", {factors.size()}, type, floats(factors));
    return model;
  };
  for (const double factor : {8.0, 32.0}) {
    const llm::RopeScaling expected{.kind = llm::RopeScalingKind::llama3, .factor = factor, .original_max_seq_len = 8192};
    CHECK(with(llama3_divisors(factor, 8192, 500000)).read().config.rope_scaling == expected);
  }
  CHECK(with(std::vector<float>(8, 1.f)).read().config.rope_scaling == llm::RopeScaling{});
  CHECK_THAT(with(llama3_divisors(8, 64, 500000)).refusal(), says("factors other than the published Llama 3 models'"));
  CHECK_THAT(with(llama3_divisors(8, 8192, 10000)).refusal(), says("factors other than the published"));
  CHECK_THAT(with({1, 1, 1, 1, 1, 1, 1, 2e6f}).refusal(), says("outside 1 ... 1e6"));
  CHECK_THAT(with({0, 1, 1, 1, 1, 1, 1, 8}).refusal(), says("outside 1 ... 1e6"));
  CHECK_THAT(with({std::nanf(""), 1, 1, 1, 1, 1, 1, 8}).refusal(), says("outside 1 ... 1e6"));
  CHECK_THAT(with({1, 1, 1, 8}).refusal(), says("must hold one f32 for each of the 8 rotated pairs"));
  CHECK_THAT(with(llama3_divisors(8, 8192, 500000), 26).refusal(), says("must hold one f32"));
  CHECK_THAT(with(llama3_divisors(8, 8192, 500000)).text("rope.scaling.type", "linear").f32("rope.scaling.factor", 2).refusal(),
             says("both scale RoPE"));
}

TEST_CASE("an unknown architecture, key or kind of file is an error, never a guess") {
  CHECK_THAT(Model("mamba").refusal(), says("architecture 'mamba' is not known"));
  CHECK_THAT(Model("").refusal(), says("architecture '' is not known"));
  CHECK_THAT(Model("llama4").refusal(), says("architecture 'llama4' is not known"));
  CHECK_THAT(Model("llama").f32("attention.clamp_kqv", 8).refusal(), says("key 'llama.attention.clamp_kqv' is unknown"));
  CHECK_THAT(Model("qwen3").u32("expert_count", 8).refusal(), says("key 'qwen3.expert_count' is unknown"));
  CHECK_THAT(Model("llama").text("tensor_data_layout", "other").refusal(), says("is 'other', which is not known"));
  CHECK_THAT(Model("llama").flag("attention.causal", false).refusal(), says("attention.causal' is false"));
  const auto after = [](const std::function<void(GgufBuilder&)>& change) {
    Model model("llama");
    change(model.builder);
    return model.refusal();
  };
  CHECK(after([](GgufBuilder& b) { b.text("general.type", "model").u32("split.count", 1).u32("llamas.x", 1).u32("other.x", 1); }).empty());
  CHECK_THAT(after([](GgufBuilder& b) { b.text("general.type", "adapter"); }), says("general.type is not 'model'"));
  CHECK_THAT(after([](GgufBuilder& b) { b.u32("general.type", 1); }), says("general.type is not 'model'"));
  CHECK_THAT(after([](GgufBuilder& b) { b.u32("split.count", 3); }), says("split into several files"));
  const std::string none = GgufBuilder().zeros("t", {1}).str();
  CHECK_THROWS_WITH(llm::read_gguf_config(GgufFile::view(std::as_bytes(std::span(none)), "test.gguf")),
                    says("test.gguf: has no key 'general.architecture'"));
}

TEST_CASE("keys that are missing, of the wrong type or out of range are errors that name the key") {
  for (const char* key : {"context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count",
                          "attention.layer_norm_rms_epsilon"})
    CHECK_THAT(Model("llama", {key}).refusal(), says("key 'llama." + std::string(key) + "' is missing"));
  CHECK_THAT(Model("llama", {"token_embd.weight"}).refusal(), says("has no tensor 'token_embd.weight'"));

  const auto with = [](const std::string& key, llm::GgufType type, const std::string& value) {
    Model model("llama", {key});
    model.builder.raw("llama." + key, type, value);
    return model.refusal();
  };
  using llm::GgufType;
  using llm_test::le;
  CHECK(with("block_count", GgufType::u64, le(std::uint64_t{2})).empty());
  CHECK(with("block_count", GgufType::i16, le(std::int16_t{2})).empty());
  CHECK(with("attention.layer_norm_rms_epsilon", GgufType::f64, le(std::bit_cast<std::uint64_t>(1e-6))).empty());
  CHECK_THAT(with("block_count", GgufType::i32, le(std::int32_t{-2})), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::u32, le(UINT32_MAX)), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::u64, le(UINT64_MAX)), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::f32, floats({2})), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::string, llm_test::gguf_text("2")), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::u32, le(std::uint32_t{0})), says("llm::Config: n_layers"));
  CHECK_THAT(with("feed_forward_length", GgufType::array, llm_test::gguf_array(GgufType::u32, 1) + le(std::uint32_t{96})),
             says("key 'llama.feed_forward_length' is an array: layers that differ in it are not supported"));
  for (const char* key : {"attention.head_count", "attention.head_count_kv", "attention.key_length", "rope.dimension_count"})
    CHECK_THAT(with(key, GgufType::u32, le(std::uint32_t{0})), says("key 'llama." + std::string(key) + "' is 0"));
  const std::string eps = "attention.layer_norm_rms_epsilon";
  CHECK_THAT(with(eps, GgufType::u32, le(std::uint32_t{1})), says("no finite floating-point number"));
  CHECK_THAT(with(eps, GgufType::f32, floats({std::nanf("")})), says("no finite floating-point number"));
  CHECK_THAT(with(eps, GgufType::f32, floats({INFINITY})), says("no finite floating-point number"));
  CHECK_THAT(with(eps, GgufType::f32, floats({0})), says("llm::Config: norm_eps"));
  CHECK_THAT(with("attention.causal", GgufType::u8, le(std::uint8_t{1})), says("is no bool"));
}

TEST_CASE("sizes that contradict each other are errors") {
  CHECK_THAT(Model("llama").u32("vocab_size", 11).refusal(), says("vocab_size' is 11, but 'token_embd.weight' has 10 rows"));
  const auto with_tokens = [](std::size_t count) {
    Model model("llama");
    model.builder.texts("tokenizer.ggml.tokens", std::vector<std::string>(count, "t"));
    return model.refusal();
  };
  CHECK(with_tokens(10).empty());
  CHECK_THAT(with_tokens(9), says("has 9 tokens, but 'token_embd.weight' has 10 rows"));
  Model no_array("llama");
  no_array.builder.u32("tokenizer.ggml.tokens", 10);
  CHECK_THAT(no_array.refusal(), says("tokenizer.ggml.tokens' is no array"));
  Model wide("llama", {"embedding_length"});
  wide.builder.u32("llama.embedding_length", 32);
  CHECK_THAT(wide.refusal(), says("embedding_length' is 32, but 'token_embd.weight' has rows of 64"));
  CHECK_THAT(Model("llama", {"token_embd.weight"}).zeros("token_embd.weight", {640}).refusal(), says("has 1 dimensions, expected 2"));
  CHECK_THAT(Model("llama").u32("attention.key_length", 20).u32("attention.value_length", 16).refusal(),
             says("value_length' is 16, but keys are 20 wide"));
  Model heads("llama", {"attention.head_count"});
  heads.builder.u32("llama.attention.head_count", 5);
  CHECK_THAT(heads.refusal(), says("key_length' is missing, and embedding_length is no multiple"));
  CHECK_THAT(Model("llama").u32("rope.dimension_count", 18).refusal(), says("rope_dim"));
  Model unsupported_type("llama", {"token_embd.weight"});
  unsupported_type.builder.tensor("token_embd.weight", {64, 10}, 24, std::string(640, '\0'));
  CHECK(unsupported_type.refusal().empty());
}
