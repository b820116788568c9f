// Elementwise kernels, activations and AdamW of odd sizes: every backend against the reference in double.
#include <support/kernel.hpp>

using namespace llm_test;
using llm::compute_t;
using llm::Reference;

namespace {
constexpr std::int64_t sizes[] = {0, 1, 3, 7, 17, 33, 65, 129, 10007};

std::vector<double> zeros(std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n)); }

/// Numbers of all magnitudes that an activation meets, and the special ones.
template <class T>
std::vector<T> activation_inputs(std::int64_t n) {
  std::vector<T> x = random_values<T>(n, 1, 4);
  const float special[] = {0.0f, -0.0f, 1e-6f, -20.0f, 20.0f, -90.0f, 90.0f, 1e-30f, -1000.0f, 1000.0f};
  for (std::size_t i = 0; i < x.size() && i < 10; ++i) x[x.size() - 1 - i] = T(special[i]);
  return x;
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("elementwise kernels of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const std::int64_t n : sizes) {
    INFO("n " << n);
    Input<B, T> a(n, 1), b(n, 2);
    Buffer<B, T> y(n);
    std::vector<double> expected = zeros(n);
    B::template fill<T>(y, n, 0.5);
    CHECK(y.host() == std::vector<T>(static_cast<std::size_t>(n), T(0.5f)));
    B::template copy<T>(y, a, n);
    check_close("copy", y.host(), a.wide, 0);
    B::template add<T>(a, b, y, n);
    Reference::add<double>(a.wide.data(), b.wide.data(), expected.data(), n);
    check_close("add", y.host(), expected, kernel_tolerance<T>);
    B::template accumulate<T>(y, b, n);
    Reference::accumulate<double>(expected.data(), b.wide.data(), n);
    check_close("accumulate", y.host(), expected, kernel_tolerance<T> * 2);
    Input<B, compute_t<T>> sums(n, 3);
    B::template accumulate<compute_t<T>, T>(sums, b, n);
    Reference::accumulate<double>(sums.wide.data(), b.wide.data(), n);
    check_close("accumulate into the compute type", sums.buffer.host(), sums.wide, kernel_tolerance<compute_t<T>> * 2);
    Input<B, T> narrow(n, 4);
    Input<B, compute_t<T>> added(n, 5);
    B::template accumulate<T, compute_t<T>>(narrow, added, n);
    Reference::accumulate<double>(narrow.wide.data(), added.wide.data(), n);
    check_close("accumulate from the compute type", narrow.buffer.host(), narrow.wide, kernel_tolerance<T> * 2);
    B::template scale<T>(y, n, -1.5);
    Reference::scale<double>(expected.data(), n, -1.5);
    check_close("scale", y.host(), expected, kernel_tolerance<T> * 3);
    const double tolerance = std::is_same_v<T, double> ? 1e-11 : 1e-5;  // sums do not round to T
    const double root = std::sqrt(static_cast<double>(n) + 1);
    CHECK(std::abs(B::template sum<T>(a, n) - Reference::sum<double>(a.wide.data(), n)) <= tolerance * root);
    const llm::Elements<T> array{a, n};
    const llm::Elements<double> wide{a.wide.data(), n};
    CHECK(std::abs(B::template sum_of_squares<T>(&array, 1) - Reference::sum_of_squares<double>(&wide, 1)) <= tolerance * root * root);
    B::template add<T>(a, b, a, n);
    Reference::add<double>(a.wide.data(), b.wide.data(), expected.data(), n);
    check_close("add in place", a.buffer.host(), expected, kernel_tolerance<T>);
  }
}

namespace {
template <class B, class To, class From>
void check_convert(std::int64_t n) {
  Input<B, From> x(n, 1);
  Buffer<B, To> y(n);
  B::template convert<To, From>(y, x, n);
  std::vector<To> expected;
  for (const double value : x.wide) expected.push_back(To(value));
  check_close("convert", y.host(), expected, 0);
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("convert rounds once to the other type", "[kernels]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const std::int64_t n : sizes) {
    INFO("n " << n);
    check_convert<B, llm::bf16, T>(n);
    check_convert<B, T, llm::bf16>(n);
    check_convert<B, T, T>(n);
    check_convert<B, float, T>(n);
  }
}

TEMPLATE_LIST_TEST_CASE("fill_normal is the stream of normal_at", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const std::int64_t n : sizes) {
    INFO("n " << n);
    Buffer<B, T> y(n);
    B::template fill_normal<T>(y, n, 7, 3, 0.02);
    std::vector<double> expected = zeros(n);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = 0.02 * llm::normal_at(7, 3, i);
    check_close("y", y.host(), expected, kernel_tolerance<T> * 0.03);
  }
}

TEMPLATE_LIST_TEST_CASE("count_targets counts, or names the first one out of range", "[kernels]", KernelBackends) {
  using B = typename TestType::Backend;
  const auto count = [](const std::vector<std::int64_t>& targets) {
    Buffer<B, std::int64_t> wide(targets);
    Buffer<B, std::int32_t> narrow(std::vector<std::int32_t>(targets.begin(), targets.end()));
    const auto n = static_cast<std::int64_t>(targets.size());
    const std::int64_t found = B::count_targets(static_cast<std::int64_t*>(wide), n, 5, -100);
    CHECK(B::count_targets(static_cast<std::int32_t*>(narrow), n, 5, -100) == found);
    return found;
  };
  CHECK(count({}) == 0);
  CHECK(count({0, 4, -100, 2}) == 3);
  CHECK(count({-100, -100}) == 0);
  CHECK(count({0, -100, 5, -1}) == -3);
  CHECK(count({-1}) == -1);
}

TEMPLATE_LIST_TEST_CASE("activations of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf})
    for (const std::int64_t n : sizes) {
      INFO("activation " << static_cast<int>(kind) << ", n " << n);
      Input<B, T> x(activation_inputs<T>(n)), dy(n, 2);
      Buffer<B, T> y(n);
      std::vector<double> expected = zeros(n);
      B::template activation_forward<T>(kind, x, y, n);
      Reference::activation_forward<double>(kind, x.wide.data(), expected.data(), n);
      check_close("y", y.host(), expected, kernel_tolerance<T>);
      Gradient dx{"dx", zeros(n)};
      Reference::activation_backward<double>(kind, dy.wide.data(), x.wide.data(), dx.expected.data(), nullptr, n, false);
      check_gradients<B, T>({dx}, kernel_tolerance<T>,
                            [&](auto& out, auto& add) { B::template activation_backward<T>(kind, dy, x, out[0], nullptr, n, add[0]); });
    }
}

TEMPLATE_LIST_TEST_CASE("gated activations of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf})
    for (const std::int64_t n : sizes) {
      INFO("activation " << static_cast<int>(kind) << " n " << n);
      Input<B, T> gate(activation_inputs<T>(n)), up(n, 2), dy(n, 3);
      Buffer<B, T> y(n);
      std::vector<double> expected = zeros(n);
      B::template gated_forward<T>(kind, gate, up, y, n);
      Reference::gated_forward<double>(kind, gate.wide.data(), up.wide.data(), expected.data(), n);
      check_close("y", y.host(), expected, kernel_tolerance<T>);
      Gradient d_gate{"dgate", zeros(n), 0}, d_up{"dup", zeros(n), 1};
      Reference::gated_backward<double>(kind, dy.wide.data(), gate.wide.data(), up.wide.data(), d_gate.expected.data(),
                                        d_up.expected.data(), nullptr, n, false, false);
      check_gradients<B, T>({d_gate, d_up}, kernel_tolerance<T>, [&](auto& out, auto& add) {
        B::template gated_backward<T>(kind, dy, gate, up, out[0], out[1], nullptr, n, add[0], add[1]);
      });
    }
}

TEMPLATE_LIST_TEST_CASE("adamw of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  using C = compute_t<T>;
  const llm::AdamWArgs args{
      .lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .correction1 = 0.3, .correction2 = 0.2, .grad_scale = 0.5};
  for (const std::int64_t n : sizes)
    for (const bool with_master : {false, true}) {
      INFO("n " << n << (with_master ? " with a master copy" : ""));
      Input<B, T> param(n, 1);
      Input<B, C> grad(n, 2), master(n, 3), m(n, 4, 0.1), v(n, 5, 0.1);
      std::vector<C> squares;
      for (const double value : v.wide) squares.push_back(C(value * value));
      Input<B, C> second(squares);
      const llm::AdamWPart<T> part{param, with_master ? static_cast<C*>(master) : nullptr, grad, m, second, n, 0.1};
      const llm::AdamWPart<double> wide{
          param.wide.data(), with_master ? master.wide.data() : nullptr, grad.wide.data(), m.wide.data(), second.wide.data(), n, 0.1};
      B::template adamw<T>(args, &part, 1);
      Reference::adamw<double>(args, &wide, 1);
      check_close("param", param.buffer.host(), param.wide, kernel_tolerance<T>);
      check_close("m", m.buffer.host(), m.wide, kernel_tolerance<C>);
      check_close("v", second.buffer.host(), second.wide, kernel_tolerance<C>);
      check_close("master", master.buffer.host(), master.wide, kernel_tolerance<C>);
    }
}
