// Training in bf16: gradients add up in f32 over micro-batches, chunks of the head and uses of a tied matrix, and a run stays near one in
// f32.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <llm/configs/train.hpp>
#include <support/catch.hpp>
#include <support/training.hpp>

using namespace llm_test;

namespace {

template <class Model>
void backward(const Model& model, std::int64_t batch, std::int64_t chunk_bytes) {
  constexpr std::int64_t length = 12;
  const auto tokens = learnable_tokens(600, Model::V);
  const auto window = [&](std::int64_t first) {
    return Model::Ids::from(std::span(tokens).subspan(static_cast<std::size_t>(first), length), {1, length});
  };
  llm::TrainingOptions options;
  options.chunk_bytes = chunk_bytes;
  llm::Tape tape;
  tape.backward(model.loss(window(9 * batch), window(9 * batch + 1), options));
}

double norm(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  std::vector<double> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return norm(difference) / norm(b);
}

/// Gradients of 64 micro-batches one by one, added up in double and in bf16.
struct Sums {
  std::vector<double> exact, rounded;
};
template <class Model>
Sums sums_of_micro_batches(Model& model) {
  Sums sums;
  for (std::int64_t batch = 0; batch < 64; ++batch) {
    backward(model, batch, 1 << 20);
    const auto one = take_gradients(model);
    sums.exact.resize(one.size());
    sums.rounded.resize(one.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      sums.exact[i] += one[i];
      sums.rounded[i] = static_cast<double>(llm::bf16(static_cast<float>(sums.rounded[i] + one[i])));
    }
  }
  return sums;
}

}  // namespace

TEMPLATE_TEST_CASE("in bf16, gradients of micro-batches add up in f32 [accum]", "", (llm::LLM<tiny, llm::Trainable<llm::bf16>>),
                   (llm::LLM<tied, llm::Trainable<llm::bf16>>)) {
  auto model = TestType::random(1);
  const Sums sums = sums_of_micro_batches(model);
  for (std::int64_t batch = 0; batch < 64; ++batch) backward(model, batch, 1 << 20);
  CHECK(distance(take_gradients(model), sums.exact) < 1e-6);
  CHECK(distance(sums.rounded, sums.exact) > 1e-3);  // what adding up in bf16 would lose
}

TEST_CASE("in bf16, the chunks of the head and both uses of a tied matrix add up in f32 [tied_grad]") {
  using Model = llm::LLM<tied, llm::Trainable<llm::bf16>>;
  auto model = Model::random(1);
  backward(model, 0, 1 << 20);
  const auto whole = take_gradients(model);
  backward(model, 0, 1);  // a row at a time
  const auto in_chunks = take_gradients(model);
  CHECK(distance(in_chunks, whole) < 1e-6);
  std::size_t narrow = 0;
  for (const double value : whole) narrow += static_cast<double>(llm::bf16(static_cast<float>(value))) == value ? 1 : 0;
  CHECK(narrow < whole.size() / 10);
}

namespace {

/// What a run of 500 steps ends with.
struct Run {
  double loss, validation;    // mean loss of the last 100 steps; loss on tokens that were not trained on
  std::vector<double> gains;  // how far each gain is from 1
};

template <class T>
Run run_500_steps() {
  using Model = llm::LLM<llm::configs::modern_small<64>, llm::Trainable<T>>;
  const auto tokens = learnable_tokens(4000, 61);
  const auto split = llm::split_tokens(tokens, 0.1, 16);
  auto model = Model::random(1);
  llm::AdamW optimizer(model);
  const llm::WarmupCosine schedule{.max_lr = 6e-4, .min_lr = 6e-5, .warmup = 20, .steps = 500};
  Run run{};
  for (const auto& batch : llm::random_windows(split.train, {.batch = 8, .length = 16, .steps = 500, .seed = 2})) {
    llm::Tape tape;
    const auto loss = model.loss(batch.inputs, batch.targets);
    if (optimizer.steps() >= 400) run.loss += llm::finite_loss(loss) / 100;
    tape.backward(loss);
    optimizer.step(schedule(optimizer.steps()), 1.0);
  }
  run.validation = llm::evaluate(model, llm::sequential_windows(split.validation, {.batch = 4, .length = 16}));
  model.for_each_parameter([&](auto& p) {
    if (p.kind() != llm::ParameterKind::gain) return;
    for (const auto value : p.tensor().to_vector()) run.gains.push_back(static_cast<double>(value) - 1.0);
  });
  return run;
}

}  // namespace

TEST_CASE("500 steps in bf16 end within 1 % of f32's loss, and gains move as far [bf16_master]") {
  const Run full = run_500_steps<float>(), half = run_500_steps<llm::bf16>();
  INFO("loss " << full.loss << " in f32, " << half.loss << " in bf16; validation " << full.validation << ", " << half.validation
               << "; gains " << norm(full.gains) << ", " << norm(half.gains));
  CHECK(full.loss < 2.0);  // ln 61 is 4.1
  CHECK(half.loss == Approx(full.loss).epsilon(0.01));
  CHECK(half.validation == Approx(full.validation).epsilon(0.01));
  CHECK(norm(half.gains) == Approx(norm(full.gains)).epsilon(0.05));
  CHECK(distance(half.gains, full.gains) < 0.1);
  std::size_t moved = 0, must_have = 0;
  for (std::size_t i = 0; i < half.gains.size(); ++i) {
    must_have += std::abs(full.gains[i]) > 1.0 / 128 ? 1 : 0;  // bf16 has a number between 1 and there
    moved += std::abs(full.gains[i]) > 1.0 / 128 && half.gains[i] != 0.0 ? 1 : 0;
  }
  CHECK(must_have > half.gains.size() / 2);
  CHECK(moved > must_have * 99 / 100);
}
