// AdamW and clipping: which parameters decay, which are left alone, and what is refused.
#include <llm/train/adamw.hpp>

#include <cmath>
#include <vector>

#include <llm/train/clip.hpp>
#include <support/catch.hpp>
#include <support/training.hpp>

using namespace llm_test;

using Double = llm::LLM<tiny, llm::Trainable<double>>;

/// Gives every parameter the same gradient.
static void set_gradients(Double& model, double value) {
  model.for_each_parameter([&](auto& p) {
    p.tensor().slot()->grad = Double::View(p).tensor().clone().buffer();
    auto gradient = p.tensor().grad();
    for (std::int64_t i = 0; i < p.numel(); ++i) gradient.data()[i] = value;
  });
}

TEST_CASE("matrices decay, gains do not, and the first step is the learning rate") {
  auto model = Double::random(1);
  llm::AdamW optimizer(model, {.weight_decay = 0.5});
  const auto before = all_weights(model);
  set_gradients(model, 2.0);
  optimizer.step(0.01);
  const auto after = all_weights(model);
  std::size_t at = 0;
  model.for_each_parameter([&](const auto& p) {
    for (std::int64_t i = 0; i < p.numel(); ++i, ++at) {
      const double decayed = before[at] * (p.is_matrix() ? 1 - 0.01 * 0.5 : 1.0);
      REQUIRE(after[at] == Approx(decayed - 0.01).margin(1e-9));
    }
    CHECK_FALSE(p.tensor().has_grad());  // consumed
  });
  CHECK(optimizer.steps() == 1);
}

TEST_CASE("a parameter without gradient is left alone, also by decay") {
  auto model = Double::random(1);
  llm::AdamW optimizer(model);
  const auto before = all_weights(model);
  optimizer.step(0.1);
  CHECK(all_weights(model) == before);
}

TEST_CASE("clipping scales all gradients to the norm, small ones stay") {
  auto model = Double::random(1);
  set_gradients(model, 0.5);
  const double norm = llm::grad_norm(model);
  CHECK(norm == Approx(0.5 * std::sqrt(static_cast<double>(Double::parameter_count))));
  CHECK(llm::clip_grad_norm(model, 2 * norm) == norm);
  CHECK(llm::grad_norm(model) == norm);
  CHECK(llm::clip_grad_norm(model, 1.0) == norm);
  CHECK(llm::grad_norm(model) == Approx(1.0).epsilon(1e-6));
  llm::clear_gradients(model);
  CHECK(llm::grad_norm(model) == 0.0);
}

TEST_CASE("a step that clips is clipping and a step") {
  for (const double most : {0.25, 1e9}) {  // below and above the norm
    auto one = Double::random(1), two = Double::random(1);
    llm::AdamW optimizer(one), other(two);
    for (int i = 0; i < 3; ++i) {
      set_gradients(one, 0.5 + i);
      set_gradients(two, 0.5 + i);
      const double norm = llm::clip_grad_norm(two, most);
      other.step(0.01);
      CHECK(optimizer.step(0.01, most) == Approx(norm).epsilon(1e-12));
    }
    const auto got = all_weights(one), want = all_weights(two);
    for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(got[i] == Approx(want[i]).epsilon(1e-12).margin(1e-15));
    CHECK(llm::grad_norm(one) == 0.0);  // consumed
  }
}

TEST_CASE("options out of range are errors") {
  auto model = Double::random(1);
  CHECK_THROWS_AS(llm::AdamW(model, {.beta1 = 1.0}), llm::ValueError);
  CHECK_THROWS_AS(llm::AdamW(model, {.beta2 = -0.1}), llm::ValueError);
  CHECK_THROWS_AS(llm::AdamW(model, {.eps = 0.0}), llm::ValueError);
  CHECK_THROWS_AS(llm::AdamW(model, {.weight_decay = std::nan("")}), llm::ValueError);
  llm::AdamW optimizer(model);
  CHECK_THROWS_AS(optimizer.step(-1e-3), llm::ValueError);
  CHECK_THROWS_AS(optimizer.step(std::nan("")), llm::ValueError);
  CHECK_THROWS_AS(llm::clip_grad_norm(model, 0.0), llm::ValueError);
  for (const double norm : {0.0, -1.0, std::nan("")}) CHECK_THROWS_AS(optimizer.step(1e-3, norm), llm::ValueError);
  CHECK(optimizer.steps() == 0);
}

TEST_CASE("a learning rate or a step count that cannot be is refused, and nothing changes") {
  auto model = Double::random(1);
  llm::AdamW optimizer(model);
  set_gradients(model, 2.0);
  const auto before = all_weights(model);
  for (const double lr : {-1.0, std::nan(""), HUGE_VAL}) CHECK_THROWS_AS(optimizer.step(lr), llm::ValueError);
  CHECK_THROWS_AS(optimizer.set_steps(-1), llm::ValueError);
  CHECK(optimizer.steps() == 0);
  CHECK(all_weights(model) == before);
}
