// Every op's backward pass against central differences, in double, on both backends.
#include <llm/autograd/gradient_check.hpp>
#include <llm/autograd/recompute.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/ops/activation_linear.hpp>
#include <llm/ops/add.hpp>
#include <llm/ops/attention.hpp>
#include <llm/ops/embedding.hpp>
#include <llm/ops/head_loss.hpp>
#include <llm/ops/layer_norm.hpp>
#include <llm/ops/linear.hpp>
#include <llm/ops/rms_norm.hpp>
#include <llm/ops/rope.hpp>
#include <llm/ops/scale.hpp>
#include <llm/ops/softmax.hpp>
#include <support/catch.hpp>

namespace {

using llm::dyn;
using llm::Shape;

template <class S, class B>
using Tensor = llm::Tensor<double, S, B>;

/// Reproducible normal values; each call gives others.
template <class S, class B>
Tensor<S, B> random_tensor(const S& shape, double scale = 1.0) {
  static std::uint64_t stream = 0;
  auto t = Tensor<S, B>::empty(shape);
  B::template fill_normal<double>(t.data(), t.numel(), 11, stream++, scale);
  return t;
}

void check(const llm::GradientCheck& result) {
  INFO(result.where);
  CHECK(result.checked > 0);
  CHECK(result.worst < 1e-8);
}

template <class B>
using Ids = llm::Tensor<llm::Token, Shape<dyn, dyn>, B>;

}  // namespace

TEMPLATE_TEST_CASE("Gradient of linear", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  auto x = random_tensor<Shape<dyn, dyn, 7>, B>({2, 3});
  auto w = random_tensor<Shape<5, 7>, B>({});
  auto b = random_tensor<Shape<5>, B>({});
  check(llm::check_gradient([&] { return llm::linear(x, w); }, x, w));
  check(llm::check_gradient([&] { return llm::linear(x, w, b); }, x, w, b));
}

TEMPLATE_TEST_CASE("Gradient of sums, of one tensor used several times", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  auto x = random_tensor<Shape<dyn, 6>, B>({4});
  auto y = random_tensor<Shape<dyn, 6>, B>({4});
  auto w = random_tensor<Shape<6, 6>, B>({});
  check(llm::check_gradient([&] { return x + y; }, x, y));
  check(llm::check_gradient([&] { return x + x; }, x));
  check(llm::check_gradient([&] { return llm::scale(x, 1.7); }, x));
  check(llm::check_gradient([&] { return llm::scale(x + y, -0.3) + llm::scale(x, 2.0); }, x, y));
  check(llm::check_gradient([&] { return x + llm::linear(llm::silu(x), w) + x; }, x, w));
  check(llm::check_gradient([&] { return llm::linear(llm::linear(x, w), w); }, x, w));
  check(llm::check_gradient([&] { return llm::linear(w, w); }, w));
}

TEMPLATE_TEST_CASE("Gradient of norms", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  auto x = random_tensor<Shape<dyn, dyn, 9>, B>({2, 3});
  auto tiny = random_tensor<Shape<dyn, dyn, 9>, B>({2, 3}, 1e-2);
  auto g = random_tensor<Shape<9>, B>({});
  auto b = random_tensor<Shape<9>, B>({});
  check(llm::check_gradient([&] { return llm::rms_norm(x, g, 1e-5); }, x, g));
  check(llm::check_gradient([&] { return llm::layer_norm(x, g, b, 1e-5); }, x, g, b));
  check(llm::check_gradient([&] { return llm::rms_norm(tiny, g, 1e-2); }, tiny, g));
}

TEMPLATE_TEST_CASE("Gradient of norms of a tensor that is its own gain or bias", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  auto x = random_tensor<Shape<9>, B>({});
  auto b = random_tensor<Shape<9>, B>({});
  const auto on_sum = [&](auto f) {  // of an intermediate, whose gradient may take over memory
    check(llm::check_gradient([&] { return f(x + x, b); }, x, b));
    check(llm::check_gradient([&] { return f(x, b); }, x, b));
  };
  on_sum([](const auto& t, const auto& other) { return llm::rms_norm(t, t, 1e-5) + other; });
  on_sum([](const auto& t, const auto& other) { return llm::layer_norm(t, t, other, 1e-5); });
  on_sum([](const auto& t, const auto& other) { return llm::layer_norm(t, other, t, 1e-5); });
  on_sum([](const auto& t, const auto& other) { return llm::layer_norm(t, t, t, 1e-5) + other; });
  on_sum([](const auto& t, const auto& other) { return llm::layer_norm(other, t, t, 1e-5); });
}

TEMPLATE_TEST_CASE("Gradient of activations", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  auto x = random_tensor<Shape<dyn, 9>, B>({5}, 2.0);
  auto y = random_tensor<Shape<dyn, 9>, B>({5}, 2.0);
  check(llm::check_gradient([&] { return llm::silu(x); }, x));
  check(llm::check_gradient([&] { return llm::gelu_tanh(x); }, x));
  check(llm::check_gradient([&] { return llm::gelu_erf(x); }, x));
  check(llm::check_gradient([&] { return llm::swiglu(x, y); }, x, y));
  check(llm::check_gradient([&] { return llm::swiglu(x, x); }, x));
  auto w = random_tensor<Shape<4, 9>, B>({});
  auto b = random_tensor<Shape<4>, B>({});
  check(llm::check_gradient([&] { return llm::swiglu_linear(x, y, w); }, x, y, w));
  check(llm::check_gradient([&] { return llm::swiglu_linear(x, x, w, b); }, x, w, b));
  check(llm::check_gradient([&] { return llm::swiglu_linear(x, y, w, b) + llm::swiglu_linear(y, x, w); }, x, y, w, b));
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf}) {
    check(llm::check_gradient([&] { return llm::activation_linear(kind, x, w); }, x, w));
    check(llm::check_gradient([&] { return llm::activation_linear(kind, x, w, b); }, x, w, b));
    check(llm::check_gradient([&] { return llm::gated(kind, x, y); }, x, y));
    check(llm::check_gradient([&] { return llm::gated_linear(kind, x, y, w, b); }, x, y, w, b));
  }
  check(llm::check_gradient([&] { return llm::softmax(x); }, x));
}

TEMPLATE_TEST_CASE("Gradient of rotary positions", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  auto x = random_tensor<Shape<dyn, dyn, 3, 8>, B>({2, 4});
  for (const bool interleaved : {false, true}) {
    const auto whole = llm::RopeTables<8, B>::build(10, 100.0, interleaved);
    const auto part = llm::RopeTables<4, B>::build(10, 100.0, interleaved);
    check(llm::check_gradient([&] { return llm::rope(x, whole, llm::Positions<B>::from(3)); }, x));
    check(llm::check_gradient([&] { return llm::rope(x, part, llm::Positions<B>::from(0)); }, x));
    const std::vector<std::int64_t> starts = {5, 1};
    const llm::Positions<B> rows{0, llm::Tensor<std::int64_t, Shape<dyn>, B>::from(starts, {2}), 5};
    check(llm::check_gradient([&] { return llm::rope(x, whole, rows); }, x));
  }
}

TEMPLATE_TEST_CASE("Gradient of attention", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  auto q = random_tensor<Shape<dyn, dyn, 6, 4>, B>({2, 5});
  auto k = random_tensor<Shape<dyn, dyn, 2, 4>, B>({2, 5});
  auto v = random_tensor<Shape<dyn, dyn, 2, 4>, B>({2, 5});
  check(llm::check_gradient([&] { return llm::attention(q, k, v); }, q, k, v));
  check(llm::check_gradient([&] { return llm::attention(q, k, v, {.causal = false}); }, q, k, v));
  check(llm::check_gradient([&] { return llm::attention(q, k, v, {.window = 2}); }, q, k, v));
  check(llm::check_gradient([&] { return llm::attention(q, k, v, {.scale = 0.3}); }, q, k, v));
  const auto documents = llm::Documents::of_lengths(std::vector<std::int64_t>{2, 3, 5}, 2, 5);
  check(llm::check_gradient([&] { return llm::attention(q, k, v, {.documents = documents}); }, q, k, v));
  auto longer = random_tensor<Shape<dyn, dyn, 2, 4>, B>({2, 8});
  check(llm::check_gradient([&] { return llm::attention(q, longer, longer); }, q, longer));
}

TEMPLATE_TEST_CASE("Gradient of embedding and cross-entropy", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  const auto ids = Ids<B>::from(std::vector<llm::Token>{1, 4, 1, 0, 2, 2}, {2, 3});
  const auto targets = Ids<B>::from(std::vector<llm::Token>{0, -100, 3, 4, -100, 2}, {2, 3});
  auto table = random_tensor<Shape<5, 6>, B>({});
  auto logits = random_tensor<Shape<dyn, dyn, 5>, B>({2, 3});
  auto x = random_tensor<Shape<dyn, dyn, 6>, B>({2, 3});
  check(llm::check_gradient([&] { return llm::embedding(ids, table); }, table));
  check(llm::check_gradient([&] { return llm::cross_entropy(logits, targets); }, logits));
  check(llm::check_gradient([&] { return llm::cross_entropy(logits, targets, {.denominator = 7}); }, logits));
  check(llm::check_gradient([&] { return llm::head_loss(x, table, targets); }, x, table));
  check(llm::check_gradient([&] { return llm::head_loss(x, table, targets, {.chunk_bytes = 2 * 5 * 8}); }, x, table));
  // one tensor as both operands
  const auto five = Ids<B>::from(std::vector<llm::Token>{0, 2, 1, 4, 3}, {1, 5}).template view<Shape<dyn>>({5});
  check(llm::check_gradient([&] { return llm::head_loss(table, table, five); }, table));
  // one matrix as embedding and head
  check(llm::check_gradient([&] { return llm::head_loss(llm::embedding(ids, table), table, targets); }, table));
}

TEMPLATE_TEST_CASE("Gradient through recompute", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  auto x = random_tensor<Shape<dyn, 6>, B>({4});
  auto w = random_tensor<Shape<6, 6>, B>({});
  const auto block = [&](const auto& input) { return input + llm::linear(llm::silu(input), w); };
  check(llm::check_gradient([&] { return llm::recompute(block, llm::recompute(block, x)); }, x, w));
}

TEST_CASE("A head without rows: no loss, no division by zero") {
  const auto x = Tensor<Shape<dyn, 4>, llm::Cpu>::empty({0}), weight = Tensor<Shape<dyn, 4>, llm::Cpu>::empty({0});
  CHECK(llm::head_loss(x, weight, llm::Tensor<llm::Token, Shape<dyn>>::empty({0})).item() == 0.0);
}

TEMPLATE_TEST_CASE("One tensor as queries, keys and values: its gradient is the sum of the three", "", float, llm::bf16) {
  using X = llm::Tensor<TestType, Shape<dyn, dyn, 2, 8>, llm::Cpu>;
  X x = X::empty({2, 70});  // several tiles of keys
  llm::Cpu::fill_normal<TestType>(x.data(), x.numel(), 5, 0, 1.0);
  X dy = X::empty(x.shape());
  llm::Cpu::fill_normal<TestType>(dy.data(), dy.numel(), 5, 1, 1.0);
  X q = x.clone(), k = x.clone(), v = x.clone();
  for (X* const leaf : {&x, &q, &k, &v}) leaf->track();
  for (int pass = 0; pass < 2; ++pass) {  // the second one adds to what is there
    llm::Tape together;
    together.backward(llm::attention(x, x, x), dy);
    llm::Tape apart;
    apart.backward(llm::attention(q, k, v), dy);
    const auto sum = x.grad().to_vector(), a = q.grad().to_vector(), b = k.grad().to_vector(), c = v.grad().to_vector();
    double worst = 0;
    for (std::size_t i = 0; i < sum.size(); ++i)
      worst = (std::max)(worst,
                         std::abs(static_cast<double>(static_cast<float>(sum[i]) -
                                                      (static_cast<float>(a[i]) + static_cast<float>(b[i]) + static_cast<float>(c[i])))));
    CHECK(worst < (sizeof(TestType) == 2 ? 0.1 : 1e-5));
  }
}
