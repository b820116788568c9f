// The acceptance checks: a good model passes all, and each fault fails the check that is meant for it.
#include <array>

#include <llm/backend/reference/reference.hpp>
#include <llm/model.hpp>
#include <llm/model/verify.hpp>
#include <support/catch.hpp>

namespace {

using Catch::Contains;
using llm::dyn;
using llm::Shape;
using llm::Token;

constexpr std::int64_t V = 50, D = 32;
using Ids = llm::Tensor<Token, Shape<dyn, dyn>>;
using Logits = llm::Tensor<float, Shape<dyn, dyn, V>>;
using X = llm::Tensor<float, Shape<dyn, dyn, D>>;

inline constexpr llm::Config llama{
    .vocab_size = V, .d_model = D, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .ffn_dim = 64, .max_seq_len = 24, .tie_embeddings = true};
inline constexpr llm::Config gpt2_post{.vocab_size = V,
                                       .d_model = D,
                                       .n_layers = 2,
                                       .n_heads = 4,
                                       .ffn_dim = 64,
                                       .max_seq_len = 24,
                                       .norm = llm::Norm::layer_norm,
                                       .norm_position = llm::NormPosition::post,
                                       .position = llm::Position::learned,
                                       .mlp = llm::Mlp::gelu_tanh,
                                       .qkv_bias = true,
                                       .attention_out_bias = true,
                                       .mlp_bias = true};
constexpr llm::VerifyOptions options{.batch = 2, .length = 24, .seed = 3};

/// A small Llama of the library's layers, in which each fault can be switched on.
struct Fake {
  bool causal = true, attention_residual = true, mlp_residual = true;
  llm::Embedding<V, D> embed;
  struct Layer {
    llm::RmsNorm<D> attn_norm, mlp_norm;
    llm::Linear<D, D> q, k, v, o;
    llm::SwiGlu<D, 64> mlp;
  };
  std::array<Layer, 2> layers;
  llm::RmsNorm<D> norm;

  explicit Fake(double stddev = 0.02, double residual_stddev = 0.01) {
    normal(embed.weight, stddev);
    ones(norm);
    for (Layer& l : layers) {
      ones(l.attn_norm);
      ones(l.mlp_norm);
      for (auto* w : {&l.q.weight, &l.k.weight, &l.v.weight}) normal(*w, stddev);
      normal(l.mlp.gate_proj.weight, stddev);
      normal(l.mlp.up_proj.weight, stddev);
      normal(l.o.weight, residual_stddev);
      normal(l.mlp.down_proj.weight, residual_stddev);
    }
  }

  Logits operator()(const Ids& ids) const {
    const Shape<dyn, dyn, 4, D / 4> heads(ids.extent(0), ids.extent(1));
    X x = embed(ids);
    for (const Layer& l : layers) {
      const X h = l.attn_norm(x);
      const auto y = llm::attention(l.q(h).view(heads), l.k(h).view(heads), l.v(h).view(heads), {.causal = causal});
      const X attended = l.o(y.view(x.shape()));
      x = attention_residual ? x + attended : attended;
      const X fed = l.mlp(l.mlp_norm(x));
      x = mlp_residual ? x + fed : fed;
    }
    return llm::linear(norm(x), embed.weight);
  }

 private:
  std::uint64_t stream_ = 0;
  template <class T>
  void normal(T& t, double stddev) {
    if (stddev > 0)
      llm::Cpu::fill_normal<float>(t.data(), t.numel(), 5, stream_++, stddev);
    else
      llm::Cpu::fill<float>(t.data(), t.numel(), 0.0);
  }
  static void ones(llm::RmsNorm<D>& n) { llm::Cpu::fill<float>(n.weight.data(), D, 1.0); }
};

Fake silent() { return Fake(0.02, 0.0); }

void check_failed(const llm::Check& check, const std::string& cause) {
  INFO(to_string(check));
  CHECK_FALSE(check.passed);
  CHECK_THAT(check.cause, Contains(cause));
  CHECK_THAT(to_string(check), Contains("FAIL  " + check.name) && Contains(". Likely cause: " + check.cause));
}
void check_passed(const llm::Check& check) {
  INFO(to_string(check));
  CHECK(check.passed);
  CHECK(check.cause.empty());
  CHECK_THAT(to_string(check), Contains("ok    " + check.name));
}

template <const llm::Config& C, class B>
void check_model() {
  auto model = llm::LLM<C, llm::Trainable<float>, B>::random(1);
  std::vector<std::vector<float>> before;
  model.for_each_parameter([&](const auto& p) { before.push_back(p.tensor().to_vector()); });
  std::vector<std::string> names;
  CHECK(llm::verify(model, [&](const llm::Check& check) {
    check_passed(check);
    names.push_back(check.name);
  }));
  CHECK(names == std::vector<std::string>{"parameters", "shape", "initial loss", "causality", "residual path"});
  std::size_t at = 0;
  model.for_each_parameter([&](const auto& p) { CHECK(p.tensor().to_vector() == before[at++]); });
}

llm::Check count_check(const llm::Config& c, std::int64_t excess) {
  const llm::NamedCount counts[] = {{"the right way", llm::parameter_count(c).total}, {"a fake", llm::parameter_count(c).total + excess}};
  return llm::verify_parameter_count(c, counts);
}

}  // namespace

TEMPLATE_TEST_CASE("A fresh model passes every check and keeps its weights", "", llm::Reference, llm::Cpu) {
  check_model<llama, TestType>();
  check_model<gpt2_post, TestType>();
}

TEST_CASE("The fake without a fault passes every check") {
  check_passed(llm::verify_shape(Fake(), V, options));
  check_passed(llm::verify_initial_loss(Fake(), V, D, options));
  check_passed(llm::verify_causality(Fake(), V, options));
  check_passed(llm::verify_residual(silent(), V, options));
}

TEST_CASE("A wrong parameter count names the likely cause") {
  check_passed(count_check(llama, 0));
  check_failed(count_check(llama, V * D), "1,600 too many: tying is not effective");
  check_failed(count_check(gpt2_post, -V * D), "1,600 too few: the head shares the embedding's matrix");
  check_failed(count_check(llama, 2 * (D + 16 + 16)), "128 too many: linear layers that should have none have a bias");
  check_failed(count_check(gpt2_post, -D), "32 too few: biases or norm gains are missing");
  check_failed(count_check(llama, 2 * 2 * D * 16), "each of the 2 blocks is off by 1,024: n_kv_heads, head_dim or ffn_dim");
  check_failed(count_check(llama, 100'001), "another shape");
}

TEST_CASE("Tying that is not effective is 49,152,000 too many in the 502M model") {
  llm::Config c = llama;
  c.vocab_size = 32000;
  c.d_model = 1536;
  check_failed(count_check(c, 49'152'000), "49,152,000 too many: tying is not effective");
}

TEST_CASE("Logits of another shape, or not finite") {
  const auto narrow = [](const Ids& ids) { return llm::Tensor<float, Shape<dyn, dyn, dyn>>::zeros({ids.extent(0), ids.extent(1), V - 1}); };
  const auto swapped = [](const Ids& ids) { return Logits::zeros({ids.extent(1), ids.extent(0)}); };
  const auto flat = [](const Ids& ids) { return llm::Tensor<float, Shape<dyn, V>>::zeros({ids.numel()}); };
  const auto infinite = [](const Ids& ids) { return Logits::full({ids.extent(0), ids.extent(1)}, HUGE_VAL); };
  check_failed(llm::verify_shape(narrow, V, options), "another width than vocab_size 50");
  check_failed(llm::verify_shape(swapped, V, options), "transposition");
  check_failed(llm::verify_shape(flat, V, options), "view");
  check_failed(llm::verify_shape(infinite, V, options), "overflowing");
  CHECK_THAT(llm::verify_shape(swapped, V, options).measured, Contains("(2, 24) -> (24, 2, 50)"));
  CHECK_THROWS_WITH(llm::verify_causality(swapped, V, options), Contains("(24, 2, 50), expected (2, 24, 50)"));
  CHECK_THROWS_AS(llm::verify_initial_loss(flat, V, D, options), llm::ShapeError);
}

TEST_CASE("Without a mask, earlier positions see later ones") {
  Fake fake;
  fake.causal = false;
  check_failed(llm::verify_causality(fake, V, options), "causal mask");
}

TEST_CASE("A model that copies the next token has a low loss") {
  const auto cheat = [](const Ids& ids) {
    const auto id = ids.to_vector();
    std::vector<float> logits(id.size() * V);
    for (std::size_t at = 0; at + 1 < id.size(); ++at) logits[at * V + static_cast<std::size_t>(id[at + 1])] = 3.0f;
    return Logits::from(logits, {ids.extent(0), ids.extent(1)});
  };
  check_failed(llm::verify_initial_loss(cheat, V, D, options), "causal mask");
  check_failed(llm::verify_causality(cheat, V, options), "causal mask");
}

TEST_CASE("A standard deviation that is too large gives a high loss") {
  check_failed(llm::verify_initial_loss(Fake(0.4), V, D, options), "initialisation is too wide");
  const auto infinite = [](const Ids& ids) { return Logits::full({ids.extent(0), ids.extent(1)}, HUGE_VAL); };
  check_failed(llm::verify_initial_loss(infinite, V, D, options), "overflowing");
}

TEST_CASE("A missing residual shows when the branches are silent, and not in the loss") {
  for (const bool attention_too : {false, true})
    for (const bool mlp_too : {false, true}) {
      if (attention_too && mlp_too) continue;
      Fake quiet = silent(), fake;
      quiet.attention_residual = fake.attention_residual = attention_too;
      quiet.mlp_residual = fake.mlp_residual = mlp_too;
      check_failed(llm::verify_residual(quiet, V, options), "does not add its input");
      check_passed(llm::verify_initial_loss(fake, V, D, options));
    }
}

TEST_CASE("A perturbation that changes nothing proves nothing") {
  const Fake model;
  const auto first = model(Ids::full({options.batch, options.length}, 7));
  const auto ignoring = [&](const Ids&) { return first; };
  check_failed(llm::verify_causality(ignoring, V, options), "do not reach the model");
  const auto not_a_number = [](const Ids& ids) { return Logits::full({ids.extent(0), ids.extent(1)}, std::nan("")); };
  check_failed(llm::verify_causality(not_a_number, V, options), "");
  check_failed(llm::verify_residual(not_a_number, V, options), "");
}

TEST_CASE("Options that allow no check are errors") {
  CHECK_THROWS_AS(llm::verify_causality(Fake(), V, {.batch = 0}), llm::ValueError);
  CHECK_THROWS_AS(llm::verify_causality(Fake(), V, {.length = 1}), llm::ValueError);
  CHECK_THROWS_WITH(llm::verify_shape(Fake(), 1, options), Contains("vocab_size 1"));
}
