// A linear map of an activation as one op gives the bits of two ops, and keeps less until backward.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/activation_linear.hpp>
#include <llm/ops/add.hpp>
#include <support/catch.hpp>

namespace {

using llm::dyn;
using llm::Shape;

constexpr std::int64_t M = 29, K = 37, N = 19;

template <class T, class B, class S>
llm::Tensor<T, S, B> random_leaf(const S& shape, std::uint64_t stream) {
  auto t = llm::Tensor<T, S, B>::empty(shape);
  B::template fill_normal<T>(t.data(), t.numel(), 1, stream, 1.0);
  t.track();
  return t;
}

template <class X>
void append(std::vector<std::byte>& bytes, const X& x) {
  const auto values = x.to_vector();
  const std::size_t end = bytes.size();
  bytes.resize(end + values.size() * sizeof(values[0]));
  std::memcpy(bytes.data() + end, values.data(), bytes.size() - end);
}

struct Run {
  std::vector<std::byte> bits;  // the result and all gradients
  std::int64_t kept;            // bytes of tensors between forward and backward
};

/// y = f(gate, up, weight, bias), where gate and up are results of ops, whose gradients may be written over them.
template <class T, class B, class F>
Run run(const F& f) {
  const auto x = random_leaf<T, B>(Shape<dyn, K>{M}, 1);
  const auto w = random_leaf<T, B>(Shape<N, K>{}, 2);
  const auto b = random_leaf<T, B>(Shape<N>{}, 3);
  const auto d_y = random_leaf<T, B>(Shape<dyn, N>{M}, 4).detach();
  Run result;
  llm::Tape tape;
  const auto y = f(x + x, x + x + x, w, b);
  result.kept = llm::pool_statistics<B>().in_use;
  append(result.bits, y);
  tape.backward(y, d_y);
  append(result.bits, x.grad());
  append(result.bits, w.grad());
  append(result.bits, b.grad());
  return result;
}

template <class T, class B, class One, class Two>
void compare(const One& one, const Two& two) {
  const Run a = run<T, B>(one), b = run<T, B>(two);
  CHECK(a.bits == b.bits);
  CHECK(a.kept + M * K * static_cast<std::int64_t>(sizeof(T)) == b.kept);
}

template <class T, class B>
void compare_all() {
  compare<T, B>([](auto g, auto u, auto& w, auto& b) { return llm::swiglu_linear(g, u, w, b); },
                [](auto g, auto u, auto& w, auto& b) { return llm::linear(llm::swiglu(g, u), w, b); });
  compare<T, B>([](auto g, auto u, auto& w, auto&) { return llm::swiglu_linear(g, u, w); },
                [](auto g, auto u, auto& w, auto&) { return llm::linear(llm::swiglu(g, u), w); });
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf})
    compare<T, B>([kind](auto g, auto, auto& w, auto& b) { return llm::activation_linear(kind, g, w, b); },
                  [kind](auto g, auto, auto& w, auto& b) { return llm::linear(llm::activation(kind, g), w, b); });
}

}  // namespace

TEMPLATE_TEST_CASE("A linear map of an activation that needs no gradient is two ops", "", llm::Reference, llm::Cpu) {
  const auto gate = random_leaf<float, TestType>(Shape<dyn, K>{M}, 1).detach(),
             up = random_leaf<float, TestType>(Shape<dyn, K>{M}, 2).detach();
  auto w = random_leaf<float, TestType>(Shape<N, K>{}, 3);
  const auto gradient = [&](const auto& f) {
    llm::Tape tape;
    const auto y = f();
    const std::int64_t before = llm::pool_statistics<TestType>().in_use;
    llm::reset_pool_high_water<TestType>();
    tape.backward(y, y.detach());
    const std::int64_t needed = llm::pool_statistics<TestType>().high_water - before;
    auto values = w.grad().to_vector();
    w.clear_grad();
    return std::pair(values, needed);
  };
  CHECK(gradient([&] { return llm::swiglu_linear(gate, up, w); }) == gradient([&] { return llm::linear(llm::swiglu(gate, up), w); }));
  CHECK(gradient([&] { return llm::activation_linear(llm::Activation::silu, up, w); }) ==
        gradient([&] { return llm::linear(llm::silu(up), w); }));
}

TEMPLATE_TEST_CASE("One op for an activation and a linear map", "", llm::Reference, llm::Cpu) {
  compare_all<float, TestType>();
  compare_all<double, TestType>();
  compare_all<llm::bf16, TestType>();
}
