// Gradients of bf16 tensors: a leaf's add up in float, whatever op writes them; an intermediate's are in bf16.
#include <cmath>
#include <type_traits>
#include <vector>

#include <llm/autograd/gradient.hpp>
#include <llm/autograd/recompute.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/ops/activation.hpp>
#include <llm/ops/add.hpp>
#include <llm/ops/embedding.hpp>
#include <llm/ops/head_loss.hpp>
#include <llm/ops/layer_norm.hpp>
#include <llm/ops/linear.hpp>
#include <llm/ops/rms_norm.hpp>
#include <support/catch.hpp>

namespace {

using llm::bf16;
template <class S>
using Half = llm::Tensor<bf16, S>;
using Vector = Half<llm::Shape<4>>;
using Square = Half<llm::Shape<4, 4>>;

/// Numbers of bf16 whose sums are none.
template <class S>
Half<S> some(std::uint64_t seed) {
  auto t = Half<S>::empty();
  llm::Cpu::fill_normal<bf16>(t.data(), t.numel(), seed, 1, 1.0);
  return t;
}

template <class Tensor>
std::vector<double> doubles(const Tensor& t) {
  const auto values = t.to_vector();
  return {values.begin(), values.end()};
}

/// The same numbers in double.
template <class S>
llm::Tensor<double, S> in_double(const Half<S>& t) {
  return llm::Tensor<double, S>::from(doubles(t));
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::fmax(worst, std::fabs(a[i] - b[i]));
  return worst;
}

/// y = 3 x: an op as a user writes it, with write() alone.
struct Triple {
  llm::Grad<bf16, llm::Cpu> d_x, d_y;
  void backward() {
    for (int i = 0; i < 3; ++i) {
      const llm::GradTarget<bf16> dx = d_x.write();
      for (std::int64_t j = 0; j < d_x.numel(); ++j)
        dx.data[j] = bf16((dx.add ? static_cast<float>(dx.data[j]) : 0.0f) + static_cast<float>(d_y.read()[j]));
    }
  }
};
Vector triple(const Vector& x) {
  Vector y = x.clone();
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data()[i] = bf16(3 * static_cast<float>(x.data()[i]));
  if (llm::Tape* const tape = llm::recording(x)) {
    const auto d_y = llm::output_gradient(y);
    tape->record(y, Triple{llm::Grad(x), d_y});
  }
  return y;
}

}  // namespace

TEST_CASE("A bf16 leaf's gradient is float, that of float and double leaves has their type") {
  STATIC_REQUIRE(std::is_same_v<decltype(Vector().grad())::value_type, float>);
  STATIC_REQUIRE(std::is_same_v<decltype(llm::Tensor<float, llm::Shape<4>>().grad())::value_type, float>);
  STATIC_REQUIRE(std::is_same_v<decltype(llm::Tensor<double, llm::Shape<4>>().grad())::value_type, double>);
  CHECK(Vector::full({}, 1.0).track().grad().to_vector() == std::vector<float>(4, 0.0f));
}

TEST_CASE("Gradients of a bf16 leaf add up over many passes without loss") {
  Vector x = Vector::full({}, 1.0).track();
  const Vector ones = Vector::full({}, 1.0);
  for (int pass = 0; pass < 1000; ++pass) {  // in bf16 the sum would stay at 256
    llm::Tape tape;
    const Vector y = pass % 2 == 0 ? x + ones : triple(x);
    tape.backward(y, ones);
  }
  CHECK(x.grad().to_vector() == std::vector<float>(4, 2000.0f));
}

TEST_CASE("grad() of a bf16 leaf shares the tape's memory, that of a kept intermediate is a copy") {
  Vector x = Vector::full({}, 1.0).track();
  llm::Tape tape;
  Vector kept = x + x;
  kept.retain_grad();
  const Vector y = kept + kept;
  tape.backward(y, Vector::full({}, 1.0));
  CHECK(kept.grad().to_vector() == std::vector<float>(4, 2.0f));
  CHECK(x.grad().to_vector() == std::vector<float>(4, 4.0f));
  CHECK(x.grad().data() == x.grad().data());
  CHECK(kept.grad().data() != static_cast<const void*>(kept.slot()->grad->data));
  CHECK(x.grad().data() == static_cast<const void*>(x.slot()->grad->data));
}

TEST_CASE("One tensor in several places of an op gets all its gradients") {
  Square x = some<llm::Shape<4, 4>>(1).track();
  auto wide = in_double(x).track();
  const auto run = [](auto& t) {
    llm::Tape tape;
    const auto y = llm::linear(t, t) + t;  // written directly as weight, through scratch memory as input and as summand
    tape.backward(y, std::remove_const_t<decltype(y)>::full({}, 1.0));
  };
  run(x);
  run(wide);
  CHECK(largest_difference(doubles(x.grad()), doubles(wide.grad())) < 0.02);  // one rounding of the input's gradient
}

TEST_CASE("Gradients of bf16 parameters are sums in float") {
  const std::int64_t rows = 601;
  using Rows = Half<llm::Shape<llm::dyn, 4>>;
  auto x = Rows::empty({rows});
  llm::Cpu::fill_normal<bf16>(x.data(), x.numel(), 5, 1, 1.0);
  const auto ones = Rows::full({rows}, 1.0);
  Square weight = some<llm::Shape<4, 4>>(2).track();
  Vector bias = some<llm::Shape<4>>(3).track(), gain = some<llm::Shape<4>>(4).track(), shift = some<llm::Shape<4>>(5).track();
  const auto run = [&](const auto& f) {
    llm::Tape tape;
    const auto y = f();
    tape.backward(y, ones);
  };
  run([&] { return llm::linear(x, weight, bias); });
  CHECK(bias.grad().to_vector() == std::vector<float>(4, 601.0f));  // which bf16 has not
  std::vector<double> columns(16);
  const auto values = doubles(x);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t n = 0; n < 4; ++n) columns[4 * n + i % 4] += values[i];
  CHECK(largest_difference(doubles(weight.grad()), columns) < 1e-4);

  run([&] { return llm::layer_norm(x, gain, shift, 1e-5); });
  CHECK(shift.grad().to_vector() == std::vector<float>(4, 601.0f));
  auto wide_gain = in_double(gain).track();
  {
    llm::Tape tape;
    const auto wide_x = llm::Tensor<double, llm::Shape<llm::dyn, 4>>::from(values, {rows});
    const auto y = llm::layer_norm(wide_x, wide_gain, in_double(shift), 1e-5);
    tape.backward(y, std::remove_const_t<decltype(y)>::full({rows}, 1.0));
  }
  CHECK(largest_difference(doubles(gain.grad()), doubles(wide_gain.grad())) < 1e-3);

  Square table = some<llm::Shape<4, 4>>(6).track();
  run([&] { return llm::embedding(llm::Tensor<std::int32_t, llm::Shape<llm::dyn>>::full({rows}, 2), table); });
  CHECK(table.grad().to_vector()[8] == 601.0f);
  CHECK(table.grad().to_vector()[0] == 0.0f);
}

TEST_CASE("The chunks of a bf16 head add up in float") {
  const std::int64_t rows = 300;
  auto x = Half<llm::Shape<llm::dyn, 4>>::empty({rows});
  llm::Cpu::fill_normal<bf16>(x.data(), x.numel(), 5, 1, 1.0);
  Square weight = some<llm::Shape<4, 4>>(2).track();
  const auto targets = llm::Tensor<std::int32_t, llm::Shape<llm::dyn>>::full({rows}, 1);
  const auto gradient = [&](std::int64_t chunk_bytes) {
    llm::LossOptions options;
    options.chunk_bytes = chunk_bytes;
    llm::Tape tape;
    tape.backward(llm::head_loss(x, weight, targets, options));
    const auto result = doubles(weight.grad());
    weight.clear_grad();
    return result;
  };
  CHECK(largest_difference(gradient(1 << 20), gradient(8)) < 1e-7);  // one chunk, one row at a time
}

TEST_CASE("A weight that is an intermediate gets its gradient in bf16, and passes it on") {
  const auto check = [](const auto& f) {
    const Square x = some<llm::Shape<4, 4>>(1);
    Square leaf = some<llm::Shape<4, 4>>(2).track();
    auto wide = in_double(leaf).track();
    const auto run = [&](const auto& input, const auto& parameter) {
      llm::Tape tape;
      auto weight = parameter + parameter;
      weight.retain_grad();
      const auto y = f(input, weight);
      tape.backward(y, std::remove_const_t<decltype(y)>::full(y.shape(), 1.0));
      return doubles(weight.grad());
    };
    const auto found = run(x, leaf), expected = run(in_double(x), wide);
    for (const double value : found) CHECK(static_cast<double>(bf16(static_cast<float>(value))) == value);
    CHECK(largest_difference(found, expected) < 0.1);
    CHECK(largest_difference(doubles(leaf.grad()), doubles(wide.grad())) < 0.2);
  };
  check([](const auto& x, const auto& w) { return llm::linear(x, w); });
  check([](const auto& x, const auto& w) { return llm::linear(x, w) + w; });  // has a gradient already
  check([](const auto&, const auto& w) { return llm::embedding(llm::Tensor<std::int32_t, llm::Shape<3>>::from({1, 3, 3}), w); });
  check([](const auto& x, const auto& w) {
    return llm::rms_norm(x.template view<llm::Shape<1, 16>>(), w.template view<llm::Shape<16>>(), 1e-5);
  });
}

TEST_CASE("A norm whose gain is a leaf and whose bias is not") {
  const Square x = some<llm::Shape<4, 4>>(1);
  Vector gain = some<llm::Shape<4>>(2).track(), before = some<llm::Shape<4>>(3).track();
  auto wide_gain = in_double(gain).track(), wide_before = in_double(before).track();
  const auto run = [](const auto& input, const auto& g, const auto& b) {
    for (int pass = 0; pass < 2; ++pass) {  // the second adds to the gain's gradient, and begins the bias' anew
      llm::Tape tape;
      const auto y = llm::layer_norm(input, g, b + b, 1e-5);
      tape.backward(y, std::remove_const_t<decltype(y)>::full({}, 1.0));
    }
  };
  run(x, gain, before);
  run(in_double(x), wide_gain, wide_before);
  CHECK(largest_difference(doubles(gain.grad()), doubles(wide_gain.grad())) < 1e-5);
  CHECK(largest_difference(doubles(before.grad()), doubles(wide_before.grad())) < 1e-5);
}

TEST_CASE("A gain that is the bias, too, gets both gradients") {
  const Square x = some<llm::Shape<4, 4>>(1);
  Vector both = some<llm::Shape<4>>(2).track();
  auto wide = in_double(both).track();
  const auto run = [](const auto& input, const auto& parameter) {
    llm::Tape tape;
    const auto y = llm::layer_norm(input, parameter, parameter, 1e-5);
    tape.backward(y, std::remove_const_t<decltype(y)>::full({}, 1.0));
  };
  run(x, both);
  run(in_double(x), wide);
  CHECK(largest_difference(doubles(both.grad()), doubles(wide.grad())) < 1e-5);
}

TEST_CASE("Recompute in bf16 gives the gradients of the plain pass, bit for bit") {
  const auto run = [](bool again) {
    Square x = some<llm::Shape<4, 4>>(1).track(), weight = some<llm::Shape<4, 4>>(2).track();
    const auto block = [weight](const Square& input) { return llm::silu(llm::linear(input, weight)); };
    llm::Tape tape;
    const Square y = again ? llm::recompute(block, x) : block(x);
    tape.backward(y, some<llm::Shape<4, 4>>(3));
    return std::pair(doubles(x.grad()), doubles(weight.grad()));
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("Scratch memory of gradients goes back to the pool, also when an op throws") {
  struct Failing {
    llm::Grad<bf16, llm::Cpu> d_x, d_y;
    void backward() {
      d_x.write();
      throw llm::Error("in between");
    }
  };
  Vector x = Vector::full({}, 1.0).track();
  const auto before = llm::pool_statistics<llm::Cpu>().in_use;
  {
    llm::Tape tape;
    const Vector y = triple(x);
    tape.backward(y, Vector::full({}, 1.0));
  }
  CHECK(llm::pool_statistics<llm::Cpu>().in_use == before + 4 * 4);  // the gradient, in float
  x.clear_grad();
  {
    llm::Tape tape;
    Vector y = x.clone();
    const auto d_y = llm::output_gradient(y);
    tape.record(y, Failing{llm::Grad(x), d_y});
    const Vector last = y + y;
    CHECK_THROWS_WITH(tape.backward(last, Vector::full({}, 1.0)), Catch::Contains("in between"));
  }
  CHECK_FALSE(x.has_grad());
  CHECK(llm::pool_statistics<llm::Cpu>().in_use == before);
}

TEST_CASE("Misuse of a bf16 leaf's gradient is an error") {
  Vector x = Vector::full({}, 1.0).track();
  llm::Grad d_x(x);
  CHECK_THROWS_WITH(d_x.write(), Catch::Contains("inside the backward()"));
  llm::Tape tape;
  Vector y = x.clone().track();
  CHECK_THROWS_WITH(tape.record(y, Triple{llm::Grad(x), llm::Grad(y)}), Catch::Contains("output_gradient(y)"));
}
