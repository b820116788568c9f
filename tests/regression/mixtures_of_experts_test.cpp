// Models with layers of several kinds, small ones of each published family: they count right, their gradients are right, they train, they
// decode, and their memory and bits do not depend on more than they should.
#include <cmath>
#include <cstdint>
#include <vector>

#include <llm/configs/mistral.hpp>
#include <llm/configs/olmoe.hpp>
#include <llm/configs/qwen1_5_moe.hpp>
#include <llm/configs/qwen3.hpp>
#include <llm/model.hpp>
#include <llm/model/freeze.hpp>
#include <llm/train/adamw.hpp>
#include <support/catch.hpp>
#include <support/lively_model.hpp>

namespace {

using llm_test::check_gradients;
using llm_test::lively;
using llm_test::two_rows;

using llm::Config;

/// The architecture of a published model at a size for tests. Sizes of experts differ from all others.
constexpr Config small(Config c) {
  c.vocab_size = 13, c.d_model = 12, c.n_layers = 3, c.n_heads = 4, c.head_dim = 6, c.ffn_dim = 10, c.max_seq_len = 8;
  c.n_kv_heads = c.n_kv_heads == c.n_heads ? 4 : 2;
  c.experts.count = 5, c.experts.active = 2, c.experts.ffn_dim = c.experts.ffn_dim > 0 ? 7 : 0;
  c.experts.shared_ffn_dim = c.experts.shared_ffn_dim > 0 ? 9 : 0;
  return c;
}
inline constexpr Config mixtral = small(llm::configs::mixtral_8x7b);
inline constexpr Config qwen3_moe = [] {
  Config c = small(llm::configs::qwen3_30b_a3b);
  c.experts.router_aux_loss_coef = 0.2;
  return c;
}();
inline constexpr Config qwen2_moe = small(llm::configs::qwen1_5_moe_a2_7b);
/// As GLM 4.5: DeepSeek-V3's router with common attention.
inline constexpr Config grouped = [] {
  Config c = small(llm::configs::qwen3_30b_a3b);
  c.n_layers = 4;
  c.experts = {.count = 6,
               .active = 2,
               .ffn_dim = 7,
               .shared_ffn_dim = 9,
               .first_dense = 1,
               .every = 2,
               .score = llm::RouterScore::sigmoid,
               .score_bias = true,
               .scale = 1.8,
               .groups = 3,
               .active_groups = 2,
               .router_aux_loss_coef = 0.2,
               .router_z_loss_coef = 0.1};
  return c;
}();
/// As Gemma 3: some layers with a window and rotations of their own.
inline constexpr Config windows = [] {
  Config c = small(llm::configs::qwen3_0_6b);
  c.experts = {};
  c.n_layers = 5, c.mlp = llm::Mlp::geglu_tanh;
  c.sliding_window = 2, c.full_attention_every = 3, c.rope_theta_window = 10.0;
  return c;
}();

/// As OLMo 2 and OLMoE: norms after the branches, one norm over all heads of q and of k.
inline constexpr Config branches = [] {
  Config c = small(llm::configs::olmoe_1b_7b);
  c.norm_position = llm::NormPosition::branch, c.n_layers = 2;
  return c;
}();
/// As Gemma 2: norms before and after the branches.
inline constexpr Config sandwich = [] {
  Config c = windows;
  c.norm_position = llm::NormPosition::sandwich, c.n_layers = 2, c.scale_embeddings = true, c.attention_scale = 0.2;
  return c;
}();
/// As Pythia.
inline constexpr Config parallel = [] {
  Config c = small(llm::configs::qwen1_5_moe_a2_7b);
  c.n_layers = 2, c.parallel_residual = true, c.norm = llm::Norm::layer_norm, c.rope_dim = 2;
  return c;
}();

/// Losses of some steps, with or without recompute.
template <class Model>
std::vector<double> train(Model& model, int steps, bool recompute) {
  llm::AdamW optimizer(model);
  std::vector<double> losses;
  llm::TrainingOptions options;
  options.recompute = recompute;
  for (int step = 0; step < steps; ++step) {
    llm::Tape tape;
    const auto loss = model.loss(two_rows<Model>(), llm::shift_labels(two_rows<Model>()), options);
    losses.push_back(static_cast<double>(loss.item()));
    tape.backward(loss);
    optimizer.step(0.02);
  }
  return losses;
}

/// One token after the other through the cache, and all at once after two, give the logits of the whole.
template <class Model>
void check_decoding(const Model& model, double tolerance) {
  const auto whole = model(two_rows<Model>()).to_vector();
  const auto all = two_rows<Model>().to_vector();
  constexpr auto V = static_cast<std::size_t>(Model::V);
  typename Model::Cache cache(2);
  for (std::size_t t = 0; t < 6; ++t) {
    const auto logits = model.last_logits(Model::Ids::from(std::vector<llm::Token>{all[t], all[6 + t]}, {2, 1}), cache).to_vector();
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t v = 0; v < V; ++v) REQUIRE(std::abs(double(logits[b * V + v]) - double(whole[(b * 6 + t) * V + v])) < tolerance);
  }
}

template <const Config& C>
void check_model() {
  using Model = llm::LLM<C, llm::Trainable<double>, llm::Reference>;
  auto model = lively<Model>();
  std::int64_t total = 0;
  model.for_each_parameter([&](const auto& p) { total += p.numel(); });
  CHECK(total == Model::parameter_count);
  check_decoding(model, 1e-12);
  check_gradients(model);
  auto other = model.clone();
  const auto losses = train(model, 30, false);
  CHECK(losses.back() < 0.5 * losses.front());
  CHECK(train(other, 30, true) == losses);
}

/// On the fast backend: the frozen model gives the trainable one's numbers, whatever the threads.
template <const Config& C>
void check_frozen() {
  using Model = llm::LLM<C>;
  const auto model = lively<Model>();
  const auto frozen = llm::freeze(model);
  const auto logits = model(two_rows<Model>()).to_vector();
  CHECK(frozen(two_rows<Model>()).to_vector() == logits);
  check_decoding(frozen, 1e-4);
  llm::set_num_threads(1);
  CHECK(frozen(two_rows<Model>()).to_vector() == logits);
  llm::set_num_threads(0);
}

}  // namespace

TEST_CASE("Mixtral") { check_model<mixtral>(), check_frozen<mixtral>(); }
TEST_CASE("Qwen3-MoE") { check_model<qwen3_moe>(), check_frozen<qwen3_moe>(); }
TEST_CASE("Qwen1.5-MoE: shared experts behind a gate") { check_model<qwen2_moe>(), check_frozen<qwen2_moe>(); }
TEST_CASE("Groups of experts, a bias for the choice, dense layers in between") { check_model<grouped>(), check_frozen<grouped>(); }
TEST_CASE("Windows and full attention in turn, each with its rotations") { check_model<windows>(), check_frozen<windows>(); }
TEST_CASE("Norms after the branches, and over all heads") { check_model<branches>(), check_frozen<branches>(); }
TEST_CASE("Norms before and after the branches") { check_model<sandwich>(), check_frozen<sandwich>(); }
TEST_CASE("Branches side by side") { check_model<parallel>(), check_frozen<parallel>(); }

TEST_CASE("An expert's number stands in its parameters' names") {
  const auto model = llm::LLM<qwen3_moe>::random(1);
  std::int64_t matches = 0;
  model.for_each_parameter([&](const auto& p) {
    if (p.expert() < 0) return;
    const std::string start = "model.layers." + std::to_string(p.layer()) + ".mlp.experts." + std::to_string(p.expert()) + ".";
    CHECK(p.name().compare(0, start.size(), start) == 0);
    ++matches;
  });
  CHECK(matches == qwen3_moe.n_layers * qwen3_moe.experts.count * 3);
}
