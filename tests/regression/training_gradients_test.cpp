// Faults of other projects around gradients: accumulation, ignored targets, tied weights, numbers that are not finite.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>
#include <support/training.hpp>

using namespace llm_test;

namespace {

using Double = llm::LLM<tiny, llm::Trainable<double>>;
using TiedDouble = llm::LLM<tied, llm::Trainable<double>>;
using Float = llm::LLM<tiny>;

template <class Model>
bool same_weights(const Model& model, const std::vector<typename Model::T>& before) {
  const auto now = all_weights(model);
  return std::memcmp(now.data(), before.data(), now.size() * sizeof(before[0])) == 0;
}

/// One backward pass of a loss that counts every target.
template <class Model>
void backward_once(Model& model) {
  const auto ids = Model::Ids::from(learnable_tokens(8, Model::V), {1, 8});
  llm::Tape tape;
  tape.backward(model.loss(ids, ids));
}

}  // namespace

TEST_CASE("one batch of uneven rows and its rows one by one give the same gradients [accum]") {
  constexpr std::int64_t rows = 4, length = 8;
  const auto inputs = learnable_tokens(rows * length, tiny.vocab_size);
  auto targets = learnable_tokens(rows * length + 1, tiny.vocab_size);
  targets.erase(targets.begin());
  std::int64_t counted = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t t = 0; t < length; ++t) {
      if (t < 2 * row + 1)
        ++counted;
      else
        targets[static_cast<std::size_t>(row * length + t)] = -100;  // rows of 1, 3, 5 and 7 targets
    }
  auto model = Double::random(1);
  const auto rows_from = [&](const std::vector<llm::Token>& all, std::int64_t first, std::int64_t count) {
    return Double::Ids::from(std::span(all).subspan(static_cast<std::size_t>(first * length), static_cast<std::size_t>(count * length)),
                             {count, length});
  };
  double whole_loss = 0, sum_of_losses = 0;
  {
    llm::Tape tape;
    const auto loss = model.loss(rows_from(inputs, 0, rows), rows_from(targets, 0, rows));
    whole_loss = loss.item();
    tape.backward(loss);
  }
  const auto whole = take_gradients(model);
  for (std::int64_t row = 0; row < rows; ++row) {
    llm::TrainingOptions options;
    options.denominator = counted;
    llm::Tape tape;
    const auto loss = model.loss(rows_from(inputs, row, 1), rows_from(targets, row, 1), options);
    sum_of_losses += loss.item();
    tape.backward(loss);
  }
  const auto accumulated = take_gradients(model);
  CHECK(sum_of_losses == Approx(whole_loss).epsilon(1e-12));
  double worst = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) worst = (std::max)(worst, std::abs(whole[i] - accumulated[i]));
  CHECK(worst < 1e-12);
}

TEST_CASE("a batch without any target brings no NaN into the optimizer [ignore_all]") {
  auto model = Float::random(1);
  llm::AdamW optimizer(model, {.weight_decay = 0.0});
  const auto before = all_weights(model);
  {
    llm::Tape tape;
    const auto loss = model.loss(Float::Ids::full({2, 4}, 3), Float::Ids::full({2, 4}, -100));
    CHECK(llm::finite_loss(loss) == 0.0);
    tape.backward(loss);
  }
  CHECK(llm::clip_grad_norm(model, 1.0) == 0.0);
  optimizer.step(1e-3);
  CHECK(same_weights(model, before));
  for (const double moment : all_moments(optimizer)) REQUIRE(moment == 0.0);
}

TEST_CASE("a tied matrix has one gradient, of both its uses, and one optimizer slot [tied_grad]") {
  auto model = TiedDouble::random(1);
  const auto inputs = TiedDouble::Ids::from(learnable_tokens(6, tied.vocab_size), {1, 6});
  const auto targets = TiedDouble::Ids::from(learnable_tokens(6, tied.vocab_size), {1, 6});
  llm::AdamW optimizer(model);
  std::size_t tables = 0;
  for (auto& state : optimizer.states())
    if (state.parameter.name().find("embed_tokens") != std::string::npos || state.parameter.name().find("lm_head") != std::string::npos)
      ++tables;
  CHECK(tables == 1);
  {
    llm::Tape tape;
    tape.backward(model.loss(inputs, targets));
  }
  auto& embedding = optimizer.states().front().parameter.tensor();
  const std::vector<double> gradient = embedding.grad().to_vector();
  double worst = 0;
  for (std::int64_t i = 0; i < embedding.numel(); i += 7) {  // rows that occur and rows that do not
    double& element = embedding.data()[i];
    const double kept = element, h = 1e-5;
    element = kept + h;
    const double above = model.loss(inputs, targets).item();
    element = kept - h;
    const double below = model.loss(inputs, targets).item();
    element = kept;
    worst = (std::max)(worst, std::abs((above - below) / (2 * h) - gradient[static_cast<std::size_t>(i)]));
  }
  CHECK(worst < 1e-8);
  const double first = gradient[0];
  optimizer.step(1e-3);
  CHECK(optimizer.states().front().m.to_vector()[0] == Approx(0.1 * first).epsilon(1e-12));  // stepped once, not twice
}

TEST_CASE("infinity and NaN in one gradient: refused, nothing changed, the checkpoint kept [nonfinite]") {
  const TemporaryFolder folder;
  Training<Float> run;
  run.train(2);
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  const std::string saved = read_file(llm::checkpoint_path(folder.path()));
  const auto weights = all_weights(run.model);
  const auto moments = all_moments(run.optimizer);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    backward_once(run.model);
    auto& last = run.optimizer.states().back().parameter;
    last.tensor().grad().data()[3] = bad;
    CHECK_THROWS_AS(llm::clip_grad_norm(run.model, 1.0), llm::NumericError);
    CHECK_THROWS_WITH(run.optimizer.step(1e-3), Catch::Contains("the gradient of " + last.name() + " is not finite"));
    CHECK(same_weights(run.model, weights));
    CHECK(all_moments(run.optimizer) == moments);
    CHECK(run.optimizer.steps() == 2);
    take_gradients(run.model);
  }
  // A program that goes on regardless cannot lose the good checkpoint either.
  run.optimizer.states().back().parameter.tensor().data()[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH(llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state()), Catch::Contains("is not finite"));
  CHECK(read_file(llm::checkpoint_path(folder.path())) == saved);
  CHECK_THROWS_AS(llm::finite_loss(run.model.loss(Float::Ids::full({1, 4}, 3), Float::Ids::full({1, 4}, 3))), llm::NumericError);
}

TEST_CASE("moments and master weights are never narrower than float [opt_dtype]") {
  using Bf16 = llm::AdamW<llm::bf16, llm::Cpu>;
  STATIC_REQUIRE(std::is_same_v<Bf16::State::Moment::value_type, float>);
  STATIC_REQUIRE(Bf16::has_master);
  STATIC_REQUIRE(std::is_same_v<llm::AdamW<float, llm::Cpu>::State::Moment::value_type, float>);
  STATIC_REQUIRE(std::is_same_v<llm::AdamW<double, llm::Cpu>::State::Moment::value_type, double>);
}
