// An op and a block of one's own, outside the library: recorded on the tape, its gradient checked against differences.
#include <cstdio>
#include <string>

#include <llm/autograd/gradient_check.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/nn/linear.hpp>
#include <llm/nn/norm.hpp>
#include <llm/ops/add.hpp>

namespace mine {

/// What squared_relu keeps for its backward pass. The tape calls backward() once, after everything that used the result.
template <class T, class Backend>
struct SquaredReluOp {
  llm::Saved<T> x;
  llm::Grad<T, Backend> d_x, d_y;

  void backward() {
    const T* const dy = d_y.read();
    const auto dx = d_x.write();  // to be added to when another op has already written a gradient of x
    for (std::int64_t i = 0; i < d_x.numel(); ++i) {
      const T slope = x.data()[i] > T(0) ? T(2) * x.data()[i] : T(0);
      dx.data[i] = (dx.add ? dx.data[i] : T(0)) + slope * dy[i];
    }
  }
};

/// y = max(x, 0)^2 for every element. Saves x. Plain loops, so for backends in host memory. Source: arXiv:2109.08668.
template <class T, class S, class Backend>
llm::Tensor<T, S, Backend> squared_relu(const llm::Tensor<T, S, Backend>& x) {
  auto y = llm::Tensor<T, S, Backend>::empty(x.shape());
  for (std::int64_t i = 0; i < x.numel(); ++i) y.data()[i] = x.data()[i] > T(0) ? x.data()[i] * x.data()[i] : T(0);
  if (llm::Tape* const tape = llm::recording(x)) {
    const auto d_y = llm::output_gradient(y);
    tape->record(y, SquaredReluOp<T, Backend>{llm::Saved(x), llm::Grad(x), d_y});
  }
  return y;
}

/// x + down(squared_relu(up(norm(x)))). x [..., D] -> [..., D], F wide inside. Layers of the library and an op that it does not have.
template <std::int64_t D, std::int64_t F, class T>
struct Block {
  llm::RmsNorm<D, T> norm;
  llm::Linear<D, F, false, llm::Trainable<T>> up;
  llm::Linear<F, D, false, llm::Trainable<T>> down;

  Block() {
    llm::Cpu::fill<T>(norm.weight.data(), norm.weight.numel(), 1.0);
    llm::Cpu::fill_normal<T>(up.weight.data(), up.weight.numel(), /*seed=*/1, /*stream=*/0, 0.3);
    llm::Cpu::fill_normal<T>(down.weight.data(), down.weight.numel(), /*seed=*/1, /*stream=*/1, 0.3);
  }
  template <class S>
  llm::Tensor<T, S> operator()(const llm::Tensor<T, S>& x) const {
    return x + down(squared_relu(up(norm(x))));
  }
};

}  // namespace mine

namespace {

bool report(const char* what, const llm::GradientCheck& check) {
  const bool good = check.checked > 0 && check.worst < 1e-7;
  std::printf("%-28s %4lld gradients, largest deviation from differences %.1e%s%s\n", what, static_cast<long long>(check.checked),
              check.worst, good ? "" : "  WRONG: ", good ? "" : check.where.c_str());
  return good;
}

}  // namespace

int main() {
  using X = llm::Tensor<double, llm::Shape<llm::dyn, 6>>;  // double: differences are then exact to about 1e-10
  X x = X::empty({4});
  llm::Cpu::fill_normal<double>(x.data(), x.numel(), /*seed=*/2, /*stream=*/0, 1.0);
  mine::Block<6, 16, double> block;

  const bool op_right = report("squared_relu(x)", llm::check_gradient([&] { return mine::squared_relu(x); }, x));
  const bool twice_right = report("x + squared_relu(x)", llm::check_gradient([&] { return x + mine::squared_relu(x); }, x));
  const bool block_right = report("block(x) and its parameters",
                                  llm::check_gradient([&] { return block(x); }, x, block.norm.weight, block.up.weight, block.down.weight));
  return op_right && twice_right && block_right ? 0 : 1;
}
