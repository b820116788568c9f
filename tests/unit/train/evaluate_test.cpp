// The validation loss weighs every target alike, and errors are named.
#include <llm/train/evaluate.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <support/catch.hpp>
#include <support/training.hpp>

using namespace llm_test;

using Double = llm::LLM<tiny, llm::Trainable<double>>;

TEST_CASE("the mean over batches of different sizes is the mean over their targets") {
  const auto model = Double::random(1);
  const auto tokens = learnable_tokens(24, tiny.vocab_size);  // windows: 2 x 5, 2 x 5, 1 x 3
  double sum = 0;
  int parts = 0;
  for (std::size_t first = 0; first + 1 < tokens.size(); first += 5, ++parts) {
    const auto length = static_cast<std::int64_t>((std::min)(std::size_t{5}, tokens.size() - 1 - first));
    const auto n = static_cast<std::size_t>(length);
    const auto window = std::span(tokens);
    sum +=
        model.loss(Double::Ids::from(window.subspan(first, n), {1, length}), Double::Ids::from(window.subspan(first + 1, n), {1, length}))
            .item() *
        static_cast<double>(length);
  }
  CHECK(parts == 5);
  CHECK(llm::evaluate(model, llm::sequential_windows(tokens, {.batch = 2, .length = 5})) == Approx(sum / 23).epsilon(1e-12));
}

TEST_CASE("ignored targets have no weight in the mean") {
  const auto model = Double::random(1);
  const auto ids = [](std::vector<llm::Token> values) { return Double::Ids::from(values, {1, static_cast<std::int64_t>(values.size())}); };
  using Batch = llm::TensorBatch<llm::Cpu>;
  const std::vector<Batch> batches{
      {ids({1, 2, 3, 4}), ids({2, 3, 4, 5})}, {ids({5, 6, 7, 8}), llm::shift_labels(ids({5, 6, 7, 8}))}, {ids({9, 9}), ids({-100, -100})}};
  const double first = model.loss(batches[0].inputs, batches[0].targets).item();
  const double second = model.loss(batches[1].inputs, batches[1].targets).item();
  CHECK(llm::evaluate(model, batches) == Approx((4 * first + 3 * second) / 7).epsilon(1e-12));
}

TEST_CASE("no batches is an error, and so is a loss that is not finite") {
  const auto model = Double::random(1);
  const auto tokens = learnable_tokens(24, tiny.vocab_size);
  CHECK_THROWS_AS(llm::evaluate(model, llm::random_windows(tokens, {.batch = 1, .length = 4, .steps = 0})), llm::ValueError);
  using Loss = llm::Tensor<float, llm::Shape<>>;
  CHECK(llm::finite_loss(Loss::full({}, 2.5)) == 2.5);
  CHECK_THROWS_WITH(llm::finite_loss(Loss::full({}, std::numeric_limits<double>::infinity())), Catch::Contains("the loss is inf"));
  CHECK_THROWS_AS(llm::finite_loss(Loss::full({}, std::nan(""))), llm::NumericError);
}
