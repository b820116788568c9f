// The tape: when it records, nesting, suspension, what is freed, and its errors.
#include <cmath>

#include <llm/autograd/gradient.hpp>
#include <llm/autograd/recompute.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/ops/activation.hpp>
#include <llm/ops/add.hpp>
#include <llm/ops/linear.hpp>
#include <support/catch.hpp>

namespace {

using Vector = llm::Tensor<double, llm::Shape<4>, llm::Reference>;

Vector leaf(double value) { return Vector::full({}, value).track(); }
double at0(const Vector& v) { return v.to_vector().at(0); }

}  // namespace

TEST_CASE("Without a tape nothing is recorded") {
  const Vector x = leaf(1.0);
  CHECK(llm::Tape::current() == nullptr);
  CHECK_FALSE((x + x).tracked());
}

TEST_CASE("Ops on untracked tensors are not recorded") {
  const Vector x = Vector::full({}, 1.0);
  const llm::Tape tape;
  CHECK_FALSE((x + x).tracked());
  CHECK(tape.size() == 0);
}

TEST_CASE("Gradients add up over backward passes until they are cleared") {
  Vector x = leaf(3.0);
  for (int pass = 1; pass <= 2; ++pass) {
    llm::Tape tape;
    const Vector y = x + x;
    tape.backward(y, Vector::full({}, 1.0));
    CHECK(at0(x.grad()) == 2.0 * pass);
  }
  x.clear_grad();
  CHECK_FALSE(x.has_grad());
  CHECK(at0(x.grad()) == 0.0);
}

TEST_CASE("Tapes nest: the innermost records, the outer one goes on afterwards") {
  Vector x = leaf(1.0);
  llm::Tape outer;
  const Vector before = x + x;
  {
    llm::Tape inner;
    const Vector y = llm::silu(x);
    CHECK(inner.size() == 1);
    inner.backward(y, Vector::full({}, 1.0));
    CHECK(llm::Tape::current() == &outer);
    x.clear_grad();
  }
  const Vector after = before + x;
  CHECK(outer.size() == 2);
  outer.backward(after, Vector::full({}, 1.0));
  CHECK(at0(x.grad()) == 3.0);
  CHECK(llm::Tape::current() == nullptr);
}

TEST_CASE("NoTape suspends recording") {
  const Vector x = leaf(1.0);
  const llm::Tape tape;
  {
    const llm::NoTape off;
    CHECK_FALSE((x + x).tracked());
  }
  CHECK((x + x).tracked());
  CHECK(tape.size() == 1);
}

TEST_CASE("backward ends recording and can run once") {
  const Vector x = leaf(1.0);
  llm::Tape tape;
  const Vector y = x + x;
  tape.backward(y, Vector::full({}, 1.0));
  CHECK_FALSE((x + x).tracked());
  CHECK_THROWS_AS(tape.backward(y, Vector::full({}, 1.0)), llm::Error);
}

TEST_CASE("A tape that has ended is not the current one again, whatever stood around its backward") {
  const Vector x = leaf(1.0);
  {
    llm::Tape tape;
    const Vector y = x + x;
    {
      const llm::NoTape off;
      tape.backward(y, Vector::full({}, 1.0));
    }
    CHECK(llm::Tape::current() == nullptr);
  }
  CHECK(llm::Tape::current() == nullptr);
  {
    llm::Tape outer;
    const Vector y = x + x;
    llm::Tape inner;
    outer.backward(y, Vector::full({}, 1.0));
    CHECK(llm::Tape::current() == &inner);
    inner.backward(x + x, Vector::full({}, 1.0));
    CHECK(llm::Tape::current() == nullptr);
  }
  CHECK(llm::Tape::current() == nullptr);
}

TEST_CASE("backward of what another tape recorded is an error that leaves no gradient behind") {
  Vector x = leaf(1.0);
  llm::Tape outer;
  const Vector y = x + x;
  {
    llm::Tape inner;
    const Vector z = x + x;
    CHECK_THROWS_WITH(inner.backward(y, Vector::full({}, 1.0)), Catch::Contains("another tape"));
    CHECK_THROWS_WITH(inner.backward(x, Vector::full({}, 1.0)), Catch::Contains("another tape"));
    CHECK_FALSE(x.has_grad());
    inner.backward(z, Vector::full({}, 1.0));
    x.clear_grad();
  }
  outer.backward(y, Vector::full({}, 1.0));
  CHECK(at0(x.grad()) == 2.0);
}

TEST_CASE("backward of something that was not recorded is an error") {
  const Vector x = leaf(1.0), constant = Vector::full({}, 1.0);
  llm::Tape tape;
  const Vector y = constant + constant;
  CHECK_THROWS_WITH(tape.backward(y, Vector::full({}, 1.0)), Catch::Contains("nothing tracked"));
}

TEST_CASE("An op that gives its result no gradient is told so when it records") {
  struct Op {
    void backward() {}
  };
  llm::Tape tape;
  CHECK_THROWS_WITH(tape.record(leaf(1.0).detach(), Op{}), Catch::Contains("output_gradient"));
  CHECK(tape.size() == 0);
}

TEST_CASE("Gradients of intermediates are gone after backward, unless asked for") {
  Vector x = leaf(1.0);
  llm::Tape tape;
  Vector dropped = x + x;
  Vector kept = dropped + x;
  kept.retain_grad();
  const Vector y = kept + kept;
  tape.backward(y, Vector::full({}, 1.0));
  CHECK_FALSE(dropped.has_grad());
  CHECK(at0(kept.grad()) == 2.0);
  CHECK(at0(x.grad()) == 6.0);
}

TEST_CASE("The terms of a sum share its gradient until one of them needs more") {
  Vector x = leaf(1.0), z = leaf(2.0);
  llm::Tape tape;
  const Vector a = x + z, b = z + z;  // d_a and d_b begin as one memory; then d_a alone grows
  const Vector sum = a + b;
  tape.backward(sum + a, Vector::full({}, 1.0));
  CHECK(at0(x.grad()) == 2.0);
  CHECK(at0(z.grad()) == 4.0);
}

TEST_CASE("A shared gradient is copied before something is added to it") {
  Vector x = leaf(1.0), z = leaf(2.0);
  llm::Tape tape;
  const Vector a = x + x, b = z + z;  // not kept: their gradients may share memory
  const Vector grown = llm::silu(a);  // its backward runs after that of the sum, and before that of b: adds to d_a
  const Vector sum = a + b;
  tape.backward(sum + grown, Vector::full({}, 1.0));
  const double sigmoid = 1.0 / (1.0 + std::exp(-2.0)), slope = sigmoid * (1.0 + 2.0 * (1.0 - sigmoid));
  CHECK(at0(z.grad()) == 2.0);
  CHECK(at0(x.grad()) == Approx(2.0 * (1.0 + slope)).epsilon(1e-12));
}

TEST_CASE("An op writes over an input that is given away, and over nothing that others refer to") {
  Vector x = leaf(1.0);
  llm::Tape tape;
  Vector branch = llm::silu(x);
  const double* const memory = branch.data();
  const Vector held = branch;
  const Vector apart = x + std::move(branch);  // `held` still refers to it
  CHECK(apart.data() != memory);
  CHECK(at0(held) == Approx(0.7310585786300049));
  Vector alone = llm::silu(x);
  const double* const taken = alone.data();
  const Vector y = x + std::move(alone);
  CHECK(y.data() == taken);
  Vector saved = llm::silu(x);
  const Vector square = llm::silu(saved);  // saves its input
  const double* const kept = saved.data();
  const Vector z = square + std::move(saved);
  CHECK(z.data() != kept);
  tape.backward(y + z + apart, Vector::full({}, 1.0));
  const auto slope = [](double v) {
    const double s = 1.0 / (1.0 + std::exp(-v));
    return s * (1.0 + v * (1.0 - s));
  };
  const double inner = 1.0 / (1.0 + std::exp(-1.0));
  CHECK(at0(x.grad()) == Approx(2.0 * (1.0 + slope(1.0)) + slope(1.0) * (1.0 + slope(inner))).epsilon(1e-12));
}

TEST_CASE("Backward overwrites saved values only when nothing else holds them") {
  Vector x = leaf(1.0);
  llm::Tape tape;
  const Vector gate = x + x, up = x + x;
  const Vector y = llm::swiglu(gate, up), w = llm::gelu_erf(gate);
  tape.backward(y + w, Vector::full({}, 1.0));
  CHECK(at0(gate) == 2.0);
  CHECK(at0(up) == 2.0);
}

TEST_CASE("A caller's upstream gradient is left as it was") {
  Vector x = leaf(1.0);
  const Vector upstream = Vector::full({}, 1.0);
  llm::Tape tape;
  const Vector y = x + x;
  tape.backward(y, upstream);
  CHECK(at0(upstream) == 1.0);
  CHECK(at0(x.grad()) == 2.0);
}

TEST_CASE("Views share the gradient") {
  auto x = leaf(1.0);
  llm::Tape tape;
  const auto flat = (x + x).view<llm::Shape<2, 2>>();
  const auto y = (flat + flat).view<llm::Shape<4>>();
  tape.backward(y, Vector::full({}, 1.0));
  CHECK(at0(x.grad()) == 4.0);
}

TEST_CASE("An exception during the forward pass leaves the thread without a tape") {
  const Vector x = leaf(1.0);
  try {
    const llm::Tape tape;
    (void)(x + x);
    throw llm::Error("in between");
  } catch (const llm::Error&) {
  }
  CHECK(llm::Tape::current() == nullptr);
}

TEST_CASE("Memory goes back to the pool when the tape dies or has run") {
  using B = llm::Reference;
  using Matrix = llm::Tensor<double, llm::Shape<llm::dyn, 64>, B>;
  const auto before = llm::pool_statistics<B>().in_use;
  {
    Matrix x = Matrix::full({64}, 0.5);
    x.track();
    const auto with_input = llm::pool_statistics<B>().in_use;
    for (const bool run : {false, true}) {
      {
        llm::Tape tape;
        const Matrix y = llm::silu(llm::silu(x));
        if (run) tape.backward(y, Matrix::full({64}, 1.0));
      }
      x.clear_grad();
      CHECK(llm::pool_statistics<B>().in_use == with_input);
    }
  }
  CHECK(llm::pool_statistics<B>().in_use == before);
}

TEST_CASE("Recompute keeps only its input") {
  using B = llm::Reference;
  using Matrix = llm::Tensor<double, llm::Shape<llm::dyn, 64>, B>;
  Matrix x = Matrix::full({64}, 0.5);
  x.track();
  const auto block = [](const Matrix& input) { return llm::silu(llm::silu(llm::silu(llm::silu(input)))); };
  const auto used = [&](bool again) {
    const auto before = llm::pool_statistics<B>().in_use;
    const llm::Tape tape;
    const Matrix y = again ? llm::recompute(block, x) : block(x);
    return llm::pool_statistics<B>().in_use - before;
  };
  const std::int64_t one = 64 * 64 * 8;
  CHECK(used(true) == one);
  CHECK(used(false) == 4 * one);
}
