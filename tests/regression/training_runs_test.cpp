// Faults of other projects that show only in whole training runs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>
#include <support/training.hpp>

using namespace llm_test;

using Float = llm::LLM<tiny>;

static double mean(const std::vector<double>& values, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += values[i];
  return sum / static_cast<double>(count);
}

TEST_CASE("200 steps are finite and the loss falls, from ln V at step 0 [smoke]") {
  Training<Float> run(1, 200);
  run.train(200);
  const double guess = std::log(static_cast<double>(tiny.vocab_size));
  CHECK(std::abs(run.losses.front() - guess) < 0.02 * guess);
  for (const double loss : run.losses) REQUIRE(std::isfinite(loss));
  CHECK(mean(run.losses, 100, 20) < mean(run.losses, 0, 20) - 0.5);
  CHECK(mean(run.losses, 180, 20) < mean(run.losses, 100, 20));
}

TEST_CASE("one batch is learned by heart [overfit]") {
  auto model = Float::random(1);
  llm::AdamW optimizer(model, {.weight_decay = 0.0});
  llm::Rng rng(3);
  std::vector<llm::Token> tokens;
  for (int i = 0; i < 33; ++i) tokens.push_back(static_cast<llm::Token>(rng.below(31)));
  const auto inputs = Float::Ids::from(std::span(tokens).first(32), {2, 16}),
             targets = Float::Ids::from(std::span(tokens).last(32), {2, 16});
  double loss = 0;
  for (int step = 0; step < 400; ++step) {
    llm::Tape tape;
    const auto value = model.loss(inputs, targets);
    loss = llm::finite_loss(value);
    tape.backward(value);
    optimizer.step(1e-2, 1.0);
  }
  CHECK(loss < 0.05);
}

TEST_CASE("validation between steps leaves no trace in training [val_isolation]") {
  Training<Float> alone, validated;
  alone.train(20);
  std::vector<double> validation;
  validated.train(20, [&](std::int64_t) {
    validation.push_back(
        llm::evaluate(validated.model, llm::sequential_windows(std::span(validated.tokens).first(200), {.batch = 4, .length = 12})));
  });
  CHECK(validated.losses == alone.losses);
  CHECK(validated.norms == alone.norms);
  CHECK(all_weights(validated.model) == all_weights(alone.model));
  CHECK(all_moments(validated.optimizer) == all_moments(alone.optimizer));
  CHECK(validation.back() < validation.front());

  // Also inside a step, where a tape is recording.
  Training<Float> inside;
  const auto ids = Float::Ids::full({1, 4}, 3);
  llm::Tape tape;
  const auto loss = inside.model.loss(ids, ids);
  const std::int64_t recorded = tape.size();
  llm::evaluate(inside.model, llm::sequential_windows(inside.tokens, {.batch = 4, .length = 12}));
  CHECK(tape.size() == recorded);
}

/// How far each gain of a model is from 1.
template <class Model>
static std::vector<double> gain_moves(Model& model) {
  std::vector<double> moves;
  model.for_each_parameter([&](auto& p) {
    if (p.kind() != llm::ParameterKind::gain) return;
    for (const auto value : p.tensor().to_vector()) moves.push_back(static_cast<double>(value) - 1.0);
  });
  return moves;
}

TEST_CASE("in bf16, norm weights move as in f32 [bf16_master]") {
  using Bf16 = llm::LLM<tiny, llm::Trainable<llm::bf16>>;
  const llm::WarmupCosine constant{.max_lr = 6e-4, .min_lr = 6e-4, .warmup = 0, .steps = 100};
  Training<Bf16> half(1, 100);
  Training<Float> full(1, 100);
  half.schedule = full.schedule = constant;
  half.train(100);
  full.train(100);
  const auto half_moves = gain_moves(half.model), full_moves = gain_moves(full.model);
  std::size_t moved = 0;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < half_moves.size(); ++i) {
    moved += half_moves[i] != 0.0 ? 1 : 0;
    difference += std::abs(half_moves[i] - full_moves[i]);
    size += std::abs(full_moves[i]);
  }
  CHECK(moved > half_moves.size() / 2);  // without master weights a step of 6e-4 rounds back to 1 each time: none would
  CHECK(difference < 0.35 * size);
  CHECK(mean(half.losses, 90, 10) == Approx(mean(full.losses, 90, 10)).epsilon(0.02));
}

namespace {
constexpr llm::Config wide_heads{
    .vocab_size = 31, .d_model = 64, .n_layers = 1, .n_heads = 4, .n_kv_heads = 2, .head_dim = 32, .ffn_dim = 96, .max_seq_len = 16};
}  // namespace

TEST_CASE("heads wider than d_model / n_heads: train, save, reload [head_dim]") {
  using Wide = llm::LLM<wide_heads>;
  const TemporaryFolder folder;
  Training<Wide> run;
  run.train(2);
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  auto model = Wide::random(9);
  llm::load_weights(folder.path(), model);
  CHECK(all_weights(model) == all_weights(run.model));
  const auto file = llm::SafetensorsFile::open(llm::checkpoint_path(folder.path()));
  CHECK(file.at("model.layers.0.self_attn.q_proj.weight").shape == std::vector<std::int64_t>{128, 64});
  CHECK(file.at("model.layers.0.self_attn.o_proj.weight").shape == std::vector<std::int64_t>{64, 128});
}
