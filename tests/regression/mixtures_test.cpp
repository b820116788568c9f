// Any mix of norm, position, KV heads, MLP and norm placement is a model: it counts right, its gradient is right, it trains, it decodes.
#include <cmath>
#include <utility>
#include <vector>

#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>
#include <llm/train/adamw.hpp>
#include <support/catch.hpp>
#include <support/lively_model.hpp>

namespace {

using llm_test::check_gradients;
using llm_test::lively;
using llm_test::two_rows;

/// Mix i of 24: every position with every MLP and both norms; KV heads (MQA, GQA, MHA) and norm placement turn with them, so that every
/// pair of choices occurs.
constexpr llm::Config mix(int i) {
  constexpr llm::Position positions[] = {llm::Position::rope_half, llm::Position::rope_interleaved, llm::Position::learned,
                                         llm::Position::none};
  constexpr llm::Mlp mlps[] = {llm::Mlp::swiglu, llm::Mlp::gelu_tanh, llm::Mlp::gelu_erf};
  constexpr std::int64_t kv_heads[] = {1, 2, 4};
  const int position = i % 4, mlp = i / 4 % 3, norm = i / 12, turn = position + mlp + norm;
  llm::Config c{.vocab_size = 11,
                .d_model = 12,
                .n_layers = 2,
                .n_heads = 4,
                .n_kv_heads = kv_heads[turn % 3],
                .head_dim = 6,  // not d_model / n_heads
                .ffn_dim = 10,
                .max_seq_len = 8,
                .tie_embeddings = turn % 2 == 0,
                .norm = norm == 0 ? llm::Norm::rms_norm : llm::Norm::layer_norm,
                .norm_position = (position + mlp) % 2 == 0 ? llm::NormPosition::pre : llm::NormPosition::post,
                .position = positions[position],
                .mlp = mlps[mlp],
                .qkv_bias = turn % 4 == 1,
                .attention_out_bias = turn % 4 == 2,
                .mlp_bias = turn % 4 == 3};
  if (c.rotary() && mlp == 1) c.rope_dim = 4;
  if (norm == 0 && mlp == 2) c.qk_norm = true;
  if (i % 5 == 4) c.sliding_window = 3;
  return c;
}

template <int I>
inline constexpr llm::Config mixture = mix(I);

template <class Model>
void check_count(const Model& model) {
  std::int64_t total = 0;
  model.for_each_parameter([&](const auto& p) { total += p.numel(); });
  CHECK(total == Model::parameter_count);
}

template <class Model>
void check_training(Model& model) {
  llm::AdamW optimizer(model);
  std::vector<double> losses;
  for (int step = 0; step < 30; ++step) {
    llm::Tape tape;
    const auto loss = model.loss(two_rows<Model>(), llm::shift_labels(two_rows<Model>()));
    losses.push_back(loss.item());
    tape.backward(loss);
    optimizer.step(0.02);
  }
  CHECK(losses.back() < 0.5 * losses.front());
}

/// One token after the other through the cache gives the logits of the whole.
template <class Model>
void check_decoding(const Model& model) {
  const auto whole = model(two_rows<Model>()).to_vector();
  const auto all = two_rows<Model>().to_vector();
  typename Model::Cache cache(2);
  for (std::size_t t = 0; t < 6; ++t) {
    const auto logits = model.last_logits(Model::Ids::from(std::vector<llm::Token>{all[t], all[6 + t]}, {2, 1}), cache).to_vector();
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t v = 0; v < 11; ++v) REQUIRE(std::abs(logits[b * 11 + v] - whole[(b * 6 + t) * 11 + v]) < 1e-12);
  }
}

template <int I>
void check_mixture() {
  INFO("mix " << I);
  using Model = llm::LLM<mixture<I>, llm::Trainable<double>, llm::Reference>;
  auto model = lively<Model>();
  check_count(model);
  check_decoding(model);
  if constexpr (I % 3 == 0) check_gradients(model);
  check_training(model);
}

}  // namespace

TEST_CASE("Twenty-four mixtures") {
  [&]<int... I>(std::integer_sequence<int, I...>) { (check_mixture<I>(), ...); }
  (std::make_integer_sequence<int, 24>());
}
