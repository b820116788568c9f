// Router losses in whole models: they keep experts in use, do not depend on threads, and add up over batches like the cross-entropy.
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <llm/data/random_windows.hpp>
#include <llm/data/sequential_windows.hpp>
#include <llm/generate/perplexity.hpp>
#include <llm/model.hpp>
#include <llm/train/adamw.hpp>
#include <llm/train/evaluate.hpp>
#include <support/catch.hpp>
#include <support/lively_model.hpp>

namespace {

using llm::Config;
using llm_test::lively;

constexpr Config base{.vocab_size = 32,
                      .d_model = 32,
                      .n_layers = 2,
                      .n_heads = 2,
                      .ffn_dim = 32,
                      .max_seq_len = 64,
                      .tie_embeddings = true,
                      .experts = {.count = 8, .active = 1, .ffn_dim = 16, .normalise = false}};
inline constexpr Config plain = base;
inline constexpr Config balanced = [] {
  Config c = base;
  c.experts.router_aux_loss_coef = 0.05, c.experts.router_z_loss_coef = 1e-3;
  return c;
}();

/// Letters as ids below 32.
std::vector<llm::Token> letters() {
  const std::string text =
      "the router sends each token to some of its experts and an expert that gets no token learns nothing so that the router has no reason "
      "to send it one later which is how a mixture ends with a few experts that do all of the work while the others stand idle";
  std::vector<llm::Token> ids;
  for (const char c : text) ids.push_back(c == ' ' ? 0 : static_cast<llm::Token>(c - 'a' + 1));
  return ids;
}

/// exp of the entropy of the experts' use: how many experts do the work.
double busy(const llm::LossParts& parts) {
  double entropy = 0;
  for (const double share : parts.expert_use) entropy -= share > 0 ? share * std::log(share) : 0;
  return std::exp(entropy);
}

double sum_of(const llm::LossParts& p) { return p.cross_entropy + p.router_aux_coef * p.router_aux + p.router_z_coef * p.router_z; }

template <const Config& C>
llm::LossParts trained(std::uint64_t seed) {
  auto model = llm::LLM<C>::random(seed);
  llm::AdamW optimizer(model);
  const auto tokens = letters();
  llm::LossParts parts;
  for (const auto& batch : llm::random_windows(tokens, {.batch = 4, .length = 32, .steps = 150, .seed = seed})) {
    llm::Tape tape;
    const auto loss = model.loss(batch.inputs, batch.targets, {.parts = &parts});
    tape.backward(loss);
    optimizer.step(1e-2, 1.0);
  }
  return parts;
}

template <class Model>
typename Model::Ids ids_of(std::int64_t batch, std::int64_t length, int step) {
  std::vector<llm::Token> ids;
  for (std::int64_t i = 0; i < batch * length; ++i) ids.push_back(static_cast<llm::Token>(i * step % 31));
  return Model::Ids::from(ids, {batch, length});
}

}  // namespace

TEST_CASE("With the balancing loss all experts work, without it fewer do") {
  double with = 0, without = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    with += busy(trained<balanced>(seed)) / 3;
    without += busy(trained<plain>(seed)) / 3;
  }
  CHECK(with > 7.0);  // of 8
  CHECK(without < with - 1.0);
}

TEST_CASE("A loss with router losses has the same bits on any number of threads") {
  using Model = llm::LLM<balanced>;
  auto model = lively<Model>();
  const auto run = [&](int threads) {
    llm::set_num_threads(threads);
    llm::LossParts parts;
    const float loss = model.loss(ids_of<Model>(5, 61, 7), ids_of<Model>(5, 61, 11), {.parts = &parts}).item();
    llm::set_num_threads(0);
    CHECK(parts.router_aux > 1.001);
    return std::vector<double>{static_cast<double>(loss), parts.cross_entropy, parts.router_aux, parts.router_z};
  };
  CHECK(run(1) == run(3));
}

TEST_CASE("The loss is the sum of its parts, and evaluation reports the cross-entropy alone") {
  using Model = llm::LLM<balanced, llm::Trainable<double>, llm::Reference>;
  const auto model = lively<Model>();
  llm::LossParts parts;
  const auto tokens = letters();
  const std::span<const llm::Token> some(tokens.data(), 33);
  const auto inputs = Model::Ids::from(some.first(32), {1, 32}), targets = Model::Ids::from(some.subspan(1), {1, 32});
  const double loss = model.loss(inputs, targets, {.parts = &parts}).item();
  CHECK((parts.router_aux_coef == 0.05 && parts.router_z_coef == 1e-3));
  CHECK(loss == Approx(sum_of(parts)).epsilon(1e-12));
  CHECK(loss == model.loss(inputs, targets).item());
  const llm::LossParts in_training = parts;
  CHECK(model.loss(inputs, targets, {.parts = &parts, .router_losses = false}).item() == in_training.cross_entropy);
  CHECK(sum_of(parts) == in_training.cross_entropy);
  CHECK(parts.router_aux == in_training.router_aux);
  CHECK(llm::evaluate(model, llm::sequential_windows<llm::Reference>(some, {.batch = 1, .length = 32})) == Approx(parts.cross_entropy));
  CHECK(llm::perplexity(model, some, {.context = 33, .stride = 32}).nats == Approx(32 * parts.cross_entropy));
  // Without coefficients the parts tell what the routers do all the same.
  using Plain = llm::LLM<plain, llm::Trainable<double>, llm::Reference>;
  llm::LossParts told;
  const double alone = lively<Plain>().loss(inputs, targets, {.parts = &told}).item();
  CHECK(alone == parts.cross_entropy);
  CHECK((told.cross_entropy == alone && told.router_aux == parts.router_aux && told.expert_use == parts.expert_use));
}

TEST_CASE("Over batches with one denominator router losses count with the batches' targets") {
  using Model = llm::LLM<balanced, llm::Trainable<double>, llm::Reference>;
  const auto model = lively<Model>();
  const auto first = ids_of<Model>(1, 20, 7), second = ids_of<Model>(2, 30, 11);
  llm::LossParts a, b;
  model.loss(first, first, {.parts = &a});
  model.loss(second, second, {.parts = &b});
  const double expected = (20 * sum_of(a) + 60 * sum_of(b)) / 80;
  const double sum = model.loss(first, first, {.denominator = 80, .parts = &a}).item() +
                     model.loss(second, second, {.denominator = 80, .parts = &b}).item();
  CHECK(sum == Approx(expected).epsilon(1e-12));
  CHECK(sum_of(a) + sum_of(b) == Approx(expected).epsilon(1e-12));
}
