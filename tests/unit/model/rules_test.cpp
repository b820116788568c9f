// The rules of a valid Config: each is broken once, alone, and says so with both numbers.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <llm/configs/all.hpp>
#include <llm/core/error.hpp>
#include <llm/model/rules.hpp>
#include <support/catch.hpp>

namespace {

using llm::Config;

struct Mistake {
  void (*make)(Config&);
  const char* sentence;  // how it begins
  const char* numbers;   // how it ends
};

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t huge = std::int64_t{1} << 62;

using Kind = llm::RopeScalingKind;
void scale(Config& c, Kind kind, double factor) { c.rope_scaling = {.kind = kind, .factor = factor, .original_max_seq_len = 8192}; }
void make_latent(Config& c) {
  c.mla = {.kv_rank = 512, .q_rank = 1536, .nope_dim = 128, .rope_dim = 64, .v_dim = 128};
  c.n_kv_heads = c.head_dim = 0;
}
void make_sparse(Config& c) { c.experts = {.count = 8, .active = 2}; }

const std::vector<Mistake> mistakes{
    {[](Config& c) { c.vocab_size = 0; }, "vocab_size must be at least 1", ": vocab_size 0, minimum 1"},
    {[](Config& c) { c.vocab_size = -5; }, "vocab_size must be at least 1", ": vocab_size -5, minimum 1"},
    {[](Config& c) { c.vocab_size = 2147483648; }, "vocab_size exceeds", ": vocab_size 2147483648, maximum 2147483647"},
    {[](Config& c) { c.d_model = 0; }, "d_model must be", ": d_model 0, minimum 1"},
    {[](Config& c) { c.d_model = c.head_dim = 0; }, "d_model must be", ": d_model 0, minimum 1"},
    {[](Config& c) { c.n_layers = -1; }, "n_layers must be", ": n_layers -1, minimum 1"},
    {[](Config& c) { c.n_heads = 0; }, "n_heads must be at least 1", ": n_heads 0, minimum 1"},
    {[](Config& c) { c.n_heads = c.head_dim = 0; }, "n_heads must be at least 1", ": n_heads 0, minimum 1"},
    {[](Config& c) { c.n_kv_heads = -4; }, "n_kv_heads must not be negative", ": n_kv_heads -4, minimum 0"},
    {[](Config& c) { c.head_dim = -128; }, "head_dim must not be negative", ": head_dim -128, minimum 0"},
    {[](Config& c) { c.ffn_dim = 0; }, "ffn_dim must be", ": ffn_dim 0, minimum 1"},
    {[](Config& c) { c.max_seq_len = 0; }, "max_seq_len must be", ": max_seq_len 0, minimum 1"},
    {[](Config& c) { c.sliding_window = -1; }, "sliding_window must not be negative", ": sliding_window -1, minimum 0"},
    {[](Config& c) { c.norm_eps = 0; }, "norm_eps must be greater than 0", ": norm_eps 0, limit 0"},
    {[](Config& c) { c.norm_eps = -1e-9; }, "norm_eps must be greater than 0", ": norm_eps -1e-09, limit 0"},
    {[](Config& c) { c.norm_eps = infinity; }, "norm_eps must be greater than 0 and finite", ": norm_eps inf, limit 0"},
    {[](Config& c) { c.norm_eps = not_a_number; }, "norm_eps must be greater than 0 and finite", "nan, limit 0"},
    {[](Config& c) { c.n_heads = 4, c.n_kv_heads = 12; }, "n_kv_heads is larger than n_heads: are they swapped?",
     ": n_heads 4, n_kv_heads 12"},
    {[](Config& c) { c.n_kv_heads = 5; }, "n_heads must be a multiple of n_kv_heads", ": n_heads 12, n_kv_heads 5"},
    {[](Config& c) { c.head_dim = 0, c.d_model = 1530; }, "head_dim is 0, which means", ": d_model 1530, n_heads 12"},
    {[](Config& c) { c.rope_dim = -2; }, "rope_dim must not be negative", ": rope_dim -2, minimum 0"},
    {[](Config& c) { c.rope_dim = 64, c.position = llm::Position::learned; }, "rope_dim is given, but", ": rope_dim 64, rotary 0"},
    {[](Config& c) { c.rope_dim = 64, c.position = llm::Position::none; }, "rope_dim is given, but", ": rope_dim 64, rotary 0"},
    {[](Config& c) { c.rope_dim = 63; }, "rope_dim (0: head_dim) must be even", ": rope_dim 63, divisor 2"},
    {[](Config& c) { c.head_dim = 1; }, "rope_dim (0: head_dim) must be even", ": rope_dim 1, divisor 2"},
    {[](Config& c) { c.rope_dim = 130; }, "rope_dim must not exceed head_dim", ": rope_dim 130, head_dim 128"},
    {[](Config& c) { c.rope_theta = 0; }, "rope_theta must be greater than 0", ": rope_theta 0, limit 0"},
    {[](Config& c) { c.rope_theta = infinity; }, "rope_theta must be greater than 0 and finite", ": rope_theta inf, limit 0"},
    {[](Config& c) { c.qk_norm = true, c.norm = llm::Norm::layer_norm; }, "qk_norm normalises heads by RMSNorm", ": qk_norm 1, norm 1"},
    {[](Config& c) { c.sliding_window = 9, c.full_attention_every = -1; }, "full_attention_every must not be",
     "full_attention_every -1, minimum 0"},
    {[](Config& c) { c.full_attention_every = 2; }, "full_attention_every is given", ": full_attention_every 2, sliding_window 0"},
    {[](Config& c) { c.sliding_window = 9, c.rope_theta_window = -1; }, "rope_theta_window must be 0", ": rope_theta_window -1, minimum 0"},
    {[](Config& c) { c.rope_theta_window = 1e4; }, "rope_theta_window is given", ": rope_theta_window 10000, sliding_window 0"},
    {[](Config& c) { scale(c, Kind::linear, 2), c.position = llm::Position::learned; }, "rope_scaling is given",
     ": rope_scaling 1, rotary 0"},
    {[](Config& c) { scale(c, Kind::linear, 0); }, "rope_scaling.factor must be greater than 0", ": factor 0, limit 0"},
    {[](Config& c) { scale(c, Kind::llama3, infinity); }, "rope_scaling.factor must be greater than 0", ": factor inf, limit 0"},
    {[](Config& c) { scale(c, Kind::none, 8); }, "rope_scaling.factor is given, but", ": factor 8, kind 0"},
    {[](Config& c) { scale(c, Kind::none, 0.5); }, "rope_scaling.factor is given, but", ": factor 0.5, kind 0"},
    {[](Config& c) { scale(c, Kind::yarn, 8), c.rope_scaling.original_max_seq_len = 0; }, "rope_scaling.kind llama3 and yarn need",
     ": original_max_seq_len 0, minimum 1"},
    {[](Config& c) { scale(c, Kind::llama3, 8), c.rope_scaling.low_freq_factor = 0; }, "rope_scaling.low_freq_factor must",
     ": low_freq_factor 0, limit 0"},
    {[](Config& c) { scale(c, Kind::llama3, 8), c.rope_scaling.high_freq_factor = 0.5; }, "rope_scaling.high_freq_factor must",
     ": high_minus_low -0.5, limit 0"},
    {[](Config& c) { scale(c, Kind::yarn, 8), c.rope_scaling.beta_slow = -1; }, "rope_scaling.beta_slow must", ": beta_slow -1, limit 0"},
    {[](Config& c) { scale(c, Kind::yarn, 8), c.rope_scaling.beta_fast = 0.5; }, "rope_scaling.beta_fast must",
     ": fast_minus_slow -0.5, minimum 0"},
    {[](Config& c) { scale(c, Kind::yarn, 8), c.rope_scaling.attention_factor = -1; }, "rope_scaling.attention_factor must",
     ": attention_factor -1, minimum 0"},
    {[](Config& c) { scale(c, Kind::yarn, 8), c.rope_scaling.mscale = -1; }, "rope_scaling.mscale must", ": mscale -1, minimum 0"},
    {[](Config& c) { scale(c, Kind::yarn, 8), c.rope_scaling.mscale_all_dim = not_a_number; }, "rope_scaling.mscale_all_dim must",
     "nan, minimum 0"},
    {[](Config& c) { c.qk_norm_joint = true; }, "qk_norm_joint says how", ": qk_norm_joint 1, qk_norm 0"},
    {[](Config& c) { c.norm_gain_offset = true, c.norm = llm::Norm::layer_norm; }, "norm_gain_offset belongs",
     ": norm_gain_offset 1, norm 1"},
    {[](Config& c) { c.parallel_residual = true, c.norm_position = llm::NormPosition::post; }, "parallel_residual normalises",
     ": parallel_residual 1, norm_position 1"},
    {[](Config& c) { c.attention_scale = -0.5; }, "attention_scale must be 0", ": attention_scale -0.5, minimum 0"},
    {[](Config& c) { c.attention_softcap = infinity; }, "attention_softcap must be 0", ": attention_softcap inf, minimum 0"},
    {[](Config& c) { c.logit_softcap = -30; }, "logit_softcap must be 0", ": logit_softcap -30, minimum 0"},
    {[](Config& c) { make_latent(c), c.mla.kv_rank = -1; }, "mla.kv_rank must not be negative", ": kv_rank -1, minimum 0"},
    {[](Config& c) { make_latent(c), c.mla.q_rank = -1; }, "mla.q_rank must not be negative", ": q_rank -1, minimum 0"},
    {[](Config& c) { c.mla.v_dim = 128; }, "fields of mla are given", ": widths 1, kv_rank 0"},
    {[](Config& c) { make_latent(c), c.mla.nope_dim = -2; }, "mla.nope_dim must not be negative", ": nope_dim -2, minimum 0"},
    {[](Config& c) { make_latent(c), c.mla.rope_dim = 0; }, "mla.rope_dim, the rotated part", ": rope_dim 0, minimum 1"},
    {[](Config& c) { make_latent(c), c.mla.rope_dim = 63; }, "rope_dim (0: head_dim) must be even", ": rope_dim 63, divisor 2"},
    {[](Config& c) { make_latent(c), c.mla.v_dim = 0; }, "mla.v_dim, the width of a value head", ": v_dim 0, minimum 1"},
    {[](Config& c) { make_latent(c), c.head_dim = 128; }, "with mla, head_dim must be 0", ": head_dim 128, nope_plus_rope 192"},
    {[](Config& c) { make_latent(c), c.n_kv_heads = 4; }, "with mla every query head", ": n_kv_heads 4, n_heads 12"},
    {[](Config& c) { make_latent(c), c.position = llm::Position::none; }, "mla rotates a part", ": kv_rank 512, rotary 0"},
    {[](Config& c) { make_latent(c), c.rope_dim = 32; }, "with mla, rope_dim must be 0", ": rope_dim 32, mla_rope_dim 64"},
    {[](Config& c) { make_latent(c), c.qk_norm = true; }, "mla normalises its latents", ": kv_rank 512, qk_norm 1"},
    {[](Config& c) { make_latent(c), c.qkv_bias = true; }, "mla has no biases", ": kv_rank 512, qkv_bias 1"},
    {[](Config& c) { c.experts.count = -8; }, "experts.count must not be negative", ": count -8, minimum 0"},
    {[](Config& c) { c.experts.active = 2; }, "experts.active is given, but", ": active 2, count 0"},
    {[](Config& c) { c.experts.count = 8; }, "experts.active, the experts that", ": active 0, minimum 1"},
    {[](Config& c) { c.experts.count = 2, c.experts.active = 8; }, "experts.active is larger than", ": active 8, count 2"},
    {[](Config& c) { c.experts.ffn_dim = -1; }, "experts.ffn_dim must not be", ": ffn_dim -1, minimum 0"},
    {[](Config& c) { c.experts.shared_ffn_dim = -1; }, "experts.shared_ffn_dim must not be", ": shared_ffn_dim -1, minimum 0"},
    {[](Config& c) { c.experts.shared_gate = true; }, "experts.shared_gate weighs", ": shared_gate 1, shared_ffn_dim 0"},
    {[](Config& c) { c.experts.first_dense = -1; }, "experts.first_dense must not be", ": first_dense -1, minimum 0"},
    {[](Config& c) { c.experts.every = 0; }, "experts.every must be at least 1", ": every 0, minimum 1"},
    {[](Config& c) { make_sparse(c), c.experts.first_dense = 18; }, "experts are given, but first_dense",
     ": last_layer 18, first_with_experts 19"},
    {[](Config& c) { make_sparse(c), c.mlp = llm::Mlp::gelu_erf; }, "experts are gated MLPs", ": count 8, gated 0"},
    {[](Config& c) { make_sparse(c), c.mlp_bias = true; }, "experts have no biases", ": count 8, mlp_bias 1"},
    {[](Config& c) { make_sparse(c), c.experts.scale = 0; }, "experts.scale must be greater than 0", ": scale 0, limit 0"},
    {[](Config& c) { make_sparse(c), c.experts.groups = 3; }, "experts.groups must be at least 1 and divide", ": count 8, groups 3"},
    {[](Config& c) { c.experts.router_z_loss_coef = 0.1; }, "coefficients of router losses are", ": coefficients_given 1, count 0"},
    {[](Config& c) { make_sparse(c), c.experts.router_aux_loss_coef = -0.5; }, "experts.router_aux_loss_coef must not be",
     ": router_aux_loss_coef -0.5, minimum 0"},
    {[](Config& c) { make_sparse(c), c.experts.router_z_loss_coef = std::numeric_limits<double>::infinity(); },
     "experts.router_z_loss_coef must not be", ": router_z_loss_coef inf, minimum 0"},
    {[](Config& c) { make_sparse(c), c.experts.active_groups = 2; }, "experts.active_groups must be", ": active_groups 2, groups 1"},
    {[](Config& c) { make_sparse(c), c.experts.active = 5, c.experts.groups = 4, c.experts.active_groups = 2; },
     "experts.active is more than the experts in", ": active 5, open 4"},
    {[](Config& c) { c.d_model = huge; }, "the sizes are too large: 18 bytes", "maximum 512409557603043100"},
    {[](Config& c) { c.n_layers = INT64_MAX; }, "the sizes are too large: 18 bytes", "maximum 512409557603043100"},
    {[](Config& c) { c.max_seq_len = huge; }, "the sizes are too large: the KV cache", "maximum 1152921504606846975"},
};

bool starts_with(const std::string& text, const std::string& start) { return text.compare(0, start.size(), start) == 0; }
bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

TEST_CASE("each mistake breaks one rule, whose text has the numbers") {
  for (const Mistake& mistake : mistakes) {
    Config config = llm::configs::seed_502m;
    mistake.make(config);
    const std::vector<std::string> broken = llm::validate(config);
    INFO(mistake.sentence << mistake.numbers << " against " << (broken.empty() ? "nothing" : broken.front()));
    REQUIRE(broken.size() == 1);
    CHECK(starts_with(broken[0], std::string("llm::Config: ") + mistake.sentence));
    CHECK(ends_with(broken[0], mistake.numbers));
  }
}

TEST_CASE("every rule of the table is broken by one of the mistakes") {
  std::vector<std::string> sentences;
  for (const Mistake& mistake : mistakes) {
    Config config = llm::configs::seed_502m;
    mistake.make(config);
    const std::string text = llm::validate(config).at(0);
    const std::string sentence = text.substr(0, text.rfind(": "));
    if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) sentences.push_back(sentence);
  }
  using namespace llm::config_rules;
  CHECK(sentences.size() == Sizes::size + Positions::size + Attention::size + MixtureOfExperts::size);
}

TEST_CASE("what LLM does not build is valid, and each feature is named alone") {
  const std::vector<Mistake> features{
      {[](Config& c) { make_sparse(c), c.experts.count = 256, c.experts.groups = 128, c.experts.active_groups = 65; },
       "a router chooses from at most 64 groups", ": active_groups 65, most 64"},
      {make_latent, "multi-head latent attention", ": kv_rank 512, built 0"},
      {[](Config& c) { c.attention_softcap = 50; }, "a soft cap of the scores", ": attention_softcap 50, built 0"},
      {[](Config& c) { c.logit_softcap = 30; }, "a soft cap of the logits", ": logit_softcap 30, built 0"},
  };
  for (const Mistake& feature : features) {
    Config config = llm::configs::seed_502m;
    CHECK(llm::buildable(config));
    feature.make(config);
    CHECK(llm::validate(config).empty());
    CHECK_FALSE(llm::buildable(config));
    const std::vector<std::string> unbuilt = llm::unbuilt_features(config);
    INFO(feature.sentence << feature.numbers << " against " << (unbuilt.empty() ? "nothing" : unbuilt.front()));
    REQUIRE(unbuilt.size() == 1);
    CHECK(starts_with(unbuilt[0], std::string("llm::LLM: ") + feature.sentence));
    CHECK(ends_with(unbuilt[0], feature.numbers));
  }
  CHECK(features.size() == llm::config_rules::Buildable::size);
}

TEST_CASE("valid configs break no rule, also at the edges") {
  for (const auto& entry : llm::configs::all) {
    INFO(std::string(entry.name));
    CHECK(llm::validate(*entry.config).empty());
  }
  const auto valid = [](void (*change)(Config&)) {
    Config config = llm::configs::seed_502m;
    change(config);
    return llm::validate(config).empty();
  };
  CHECK(valid([](Config& c) { c.n_kv_heads = 0; }));
  CHECK(valid([](Config& c) { c.n_kv_heads = 1; }));
  CHECK(valid([](Config& c) { c.n_kv_heads = c.n_heads; }));
  CHECK(valid([](Config& c) { c.head_dim = 0; }));
  CHECK(valid([](Config& c) { c.head_dim = 100; }));  // H E need not be d_model
  CHECK(valid([](Config& c) { c.rope_dim = 128; }));
  CHECK(valid([](Config& c) { c.rope_dim = 2; }));
  CHECK(valid([](Config& c) { c.vocab_size = 2147483647; }));
  CHECK(valid([](Config& c) { c.rope_theta = 1e-300; }));
  CHECK(valid([](Config& c) { c.rope_theta = 1e300; }));
  CHECK(valid([](Config& c) { c.norm_eps = 1e-30; }));
  CHECK(valid([](Config& c) { c.rope_theta = 0, c.position = llm::Position::learned; }));  // not used there
  CHECK(valid([](Config& c) { c.head_dim = 127, c.position = llm::Position::learned; }));
  CHECK(valid([](Config& c) { c.norm = llm::Norm::layer_norm, c.norm_rounding = llm::Rounding::gain_then_round; }));
}

TEST_CASE("a config full of the worst numbers is refused without harm") {
  for (const std::int64_t value : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX}) {
    Config config{value, value, value, value, value, value, value, value};
    config.rope_dim = config.sliding_window = config.full_attention_every = value;
    config.mla = {value, value, value, value, value};
    config.experts = {.count = value, .active = value, .ffn_dim = value, .shared_ffn_dim = value, .first_dense = value, .every = value};
    config.experts.groups = config.experts.active_groups = config.rope_scaling.original_max_seq_len = value;
    CHECK_FALSE(llm::validate(config).empty());
    config.n_heads = -1;
    config.head_dim = 0;
    config.d_model = INT64_MIN;
    CHECK_FALSE(llm::validate(config).empty());
  }
}

TEST_CASE("require_valid throws every broken rule and says where the config comes from") {
  Config config = llm::configs::seed_502m;
  CHECK_NOTHROW(llm::require_valid(config, "config.json"));
  config.n_kv_heads = 5;
  config.vocab_size = 0;
  try {
    llm::require_valid(config, "config.json");
    FAIL("not refused");
  } catch (const llm::ConfigError& error) {
    CHECK(std::string(error.what()) ==
          "config.json: llm::Config: vocab_size must be at least 1: vocab_size 0, minimum 1\n"
          "llm::Config: n_heads must be a multiple of n_kv_heads (each KV head serves a group of query heads): n_heads 12, n_kv_heads 5");
  }
  CHECK_THROWS_AS(llm::require_valid(Config{}), llm::ConfigError);
}
