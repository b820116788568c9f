// The fields of a Config by name.
#include <llm/model/config_fields.hpp>

#include <set>
#include <string>
#include <vector>

#include <support/catch.hpp>

using llm::Config;

static constexpr Config config{.vocab_size = 10, .d_model = 16, .n_layers = 1, .n_heads = 4, .ffn_dim = 20, .max_seq_len = 8};

TEST_CASE("every field has a name and can be written") {
  Config copy = config;
  std::vector<std::string> names;
  llm::for_each_field(copy, [&](const char* name, auto& value) {
    names.push_back(name);
    using V = std::remove_reference_t<decltype(value)>;
    const Config before = copy;
    const V old = value;
    value = static_cast<V>(static_cast<int>(value) == 1 ? 0 : 1);
    CHECK_FALSE(copy == before);
    value = old;
  });
  CHECK(names.size() == 31 + 11 + 15 + 5);  // Config's own, and those of rope_scaling, experts and mla
  CHECK(names.front() == "vocab_size");
  CHECK(names.back() == "mla.v_dim");
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  CHECK(copy == config);
}

TEST_CASE("names of enums lead there and back, other names nowhere") {
  for (const auto value : {llm::Position::rope_half, llm::Position::rope_interleaved, llm::Position::learned, llm::Position::none}) {
    auto parsed = llm::Position::none;
    CHECK(llm::parse_enum(llm::enum_name(value), parsed));
    CHECK(parsed == value);
  }
  auto mlp = llm::Mlp::gelu_erf;
  CHECK_FALSE(llm::parse_enum("relu", mlp));
  CHECK(mlp == llm::Mlp::gelu_erf);
  CHECK(llm::enum_name(llm::Mlp::gelu_tanh) == "gelu_tanh");
  CHECK(llm::enum_name(llm::Rounding::gain_then_round) == "gain_then_round");
  CHECK(llm::enum_name(llm::NormPosition::post) == "post");
  CHECK(llm::enum_name(llm::NormPosition::sandwich) == "sandwich");
  CHECK(llm::enum_name(llm::Mlp::geglu_tanh) == "geglu_tanh");
  CHECK(llm::enum_name(llm::RopeScalingKind::yarn) == "yarn");
  CHECK(llm::enum_name(llm::RouterScore::sigmoid) == "sigmoid");
  CHECK(llm::enum_name(llm::Norm::layer_norm) == "layer_norm");
}

TEST_CASE("differences are named with both values, and defaults written out are none") {
  Config other = config;
  other.n_kv_heads = 4;
  other.head_dim = 4;
  other.rope_dim = 4;
  other.experts.router_aux_loss_coef = other.experts.router_z_loss_coef = 0.1;  // for training alone
  CHECK(llm::config_differences(config, "a", other, "b").empty());
  other.n_kv_heads = 2;
  other.norm_eps = 1e-6;
  other.qk_norm = true;
  CHECK(llm::config_differences(config, "a", other, "b") ==
        "n_kv_heads is 4 in a, 2 in b; norm_eps is 1e-05 in a, 1e-06 in b; qk_norm is false in a, true in b");
}
