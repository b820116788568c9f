// Norms, softmax and cross-entropy of odd sizes: every backend against the reference in double.
#include <support/kernel.hpp>

using namespace llm_test;
using llm::compute_t;
using llm::Reference;

namespace {
constexpr std::int64_t sizes[] = {0, 1, 3, 7, 17, 33, 65, 129};

std::vector<double> zeros(std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n)); }

template <class B, class T>
void check_rms_norm(std::int64_t rows, std::int64_t cols) {
  Input<B, T> x(rows * cols, 1, 3), gain(cols, 2), dy(rows * cols, 3);
  Buffer<B, T> y(rows * cols);
  Buffer<B, compute_t<T>> inverse(rows);
  std::vector<double> y_wide = zeros(rows * cols), inverse_wide = zeros(rows);
  B::template rms_norm_forward<T>(x, gain, y, inverse, rows, cols, 1e-5, llm::Rounding::gain_then_round);
  Reference::rms_norm_forward<double>(x.wide.data(), gain.wide.data(), y_wide.data(), inverse_wide.data(), rows, cols, 1e-5,
                                      llm::Rounding::gain_then_round);
  check_close("rms_norm y", y.host(), y_wide, kernel_tolerance<T>);
  if (cols == 0) return;  // the mean of no squares
  check_close("inverse rms", inverse.host(), inverse_wide, kernel_tolerance<compute_t<T>>);
  Gradient dx{"rms_norm dx", zeros(rows * cols), 0}, dgain{"rms_norm dgain", zeros(cols), 1};
  Reference::rms_norm_backward<double>(dy.wide.data(), x.wide.data(), gain.wide.data(), inverse_wide.data(), dx.expected.data(),
                                       dgain.expected.data(), rows, cols, false, false);
  check_gradients<B, T>({dx, dgain}, kernel_tolerance<T> * 2, [&](auto& out, auto& add) {
    B::template rms_norm_backward<T>(dy, x, gain, inverse, out[0], out[1], rows, cols, add[0], add[1]);
  });
}

template <class B, class T>
void check_layer_norm(std::int64_t rows, std::int64_t cols) {
  Input<B, T> x(rows * cols, 1, 3), gain(cols, 2), bias(cols, 4), dy(rows * cols, 3);
  Buffer<B, T> y(rows * cols);
  Buffer<B, compute_t<T>> mean(rows), inverse(rows);
  std::vector<double> y_wide = zeros(rows * cols), mean_wide = zeros(rows), inverse_wide = zeros(rows);
  B::template layer_norm_forward<T>(x, gain, bias, y, mean, inverse, rows, cols, 1e-5);
  Reference::layer_norm_forward<double>(x.wide.data(), gain.wide.data(), bias.wide.data(), y_wide.data(), mean_wide.data(),
                                        inverse_wide.data(), rows, cols, 1e-5);
  check_close("layer_norm y", y.host(), y_wide, kernel_tolerance<T>);
  if (cols < 2) return;  // no mean of nothing; one column has no spread, so that its inverse is 1 / sqrt(eps) times rounding errors
  check_close("mean", mean.host(), mean_wide, kernel_tolerance<compute_t<T>>);
  check_close("inverse std", inverse.host(), inverse_wide, kernel_tolerance<compute_t<T>>);
  Gradient dx{"layer_norm dx", zeros(rows * cols), 0}, dgain{"dgain", zeros(cols), 1}, dbias{"dbias", zeros(cols), 1};
  Reference::layer_norm_backward<double>(dy.wide.data(), x.wide.data(), gain.wide.data(), mean_wide.data(), inverse_wide.data(),
                                         dx.expected.data(), dgain.expected.data(), dbias.expected.data(), rows, cols, false, false);
  check_gradients<B, T>({dx, dgain, dbias}, kernel_tolerance<T> * 2, [&](auto& out, auto& add) {
    B::template layer_norm_backward<T>(dy, x, gain, mean, inverse, out[0], out[1], out[2], rows, cols, add[0], add[1]);
  });
}

template <class B, class T>
void check_softmax(std::int64_t rows, std::int64_t cols) {
  Input<B, T> x(rows * cols, 1, 5), dy(rows * cols, 2);
  Buffer<B, T> y(rows * cols);
  std::vector<double> y_wide = zeros(rows * cols);
  B::template softmax_forward<T>(x, y, rows, cols);
  Reference::softmax_forward<double>(x.wide.data(), y_wide.data(), rows, cols);
  check_close("softmax y", y.host(), y_wide, kernel_tolerance<T>);
  Input<B, T> probabilities(y.host());
  Gradient dx{"softmax dx", zeros(rows * cols)};
  Reference::softmax_backward<double>(dy.wide.data(), probabilities.wide.data(), dx.expected.data(), rows, cols, false);
  check_gradients<B, T>({dx}, kernel_tolerance<T>,
                        [&](auto& out, auto& add) { B::template softmax_backward<T>(dy, probabilities, out[0], rows, cols, add[0]); });
  B::template softmax_forward<T>(x, x, rows, cols);
  check_close("softmax in place", x.buffer.host(), y.host(), 0);
}

template <class B, class T>
void check_cross_entropy(std::int64_t rows, std::int64_t V) {
  Input<B, T> logits(rows * V, 1, 4);
  std::vector<std::int32_t> targets;
  for (std::int64_t r = 0; r < rows; ++r) targets.push_back(r % 4 == 2 || V == 0 ? -1 : static_cast<std::int32_t>(r * 31 % V));
  Buffer<B, std::int32_t> target_buffer(targets);
  std::int32_t* const at = target_buffer;
  Buffer<B, compute_t<T>> losses(rows), lse(rows);
  std::vector<double> losses_wide = zeros(rows), lse_wide = zeros(rows), d_wide = zeros(rows * V);
  B::template cross_entropy_forward<T>(static_cast<T*>(logits), at, static_cast<compute_t<T>*>(losses), static_cast<compute_t<T>*>(lse),
                                       rows, V, -1);
  Reference::cross_entropy_forward<double>(logits.wide.data(), targets.data(), losses_wide.data(), lse_wide.data(), rows, V, -1);
  check_close("losses", losses.host(), losses_wide, kernel_tolerance<compute_t<T>>);
  check_close("lse", lse.host(), lse_wide, kernel_tolerance<compute_t<T>>);
  Buffer<B, T> d_logits(rows * V);
  B::template cross_entropy_backward<T>(static_cast<T*>(logits), at, static_cast<const compute_t<T>*>(static_cast<compute_t<T>*>(lse)), 0.7,
                                        static_cast<T*>(d_logits), rows, V, -1);
  Reference::cross_entropy_backward<double>(logits.wide.data(), targets.data(), lse_wide.data(), 0.7, d_wide.data(), rows, V, -1);
  check_close("dlogits", d_logits.host(), d_wide, kernel_tolerance<T>);
}

template <class TestType, class Check>
void for_each_size(Check check) {
  for (const std::int64_t rows : sizes)
    for (const std::int64_t cols : sizes) {
      INFO(rows << " rows of " << cols);
      check(rows, cols);
    }
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("rms_norm of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  for_each_size<TestType>(check_rms_norm<typename TestType::Backend, typename TestType::Scalar>);
}
TEMPLATE_LIST_TEST_CASE("layer_norm of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  for_each_size<TestType>(check_layer_norm<typename TestType::Backend, typename TestType::Scalar>);
}
TEMPLATE_LIST_TEST_CASE("softmax of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  for_each_size<TestType>(check_softmax<typename TestType::Backend, typename TestType::Scalar>);
}
TEMPLATE_LIST_TEST_CASE("cross_entropy of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  for_each_size<TestType>(check_cross_entropy<typename TestType::Backend, typename TestType::Scalar>);
}

TEMPLATE_LIST_TEST_CASE("softmax of a row of -inf is zeros, cross_entropy allows -inf", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const T inf = T(std::numeric_limits<float>::infinity()), none = T(-static_cast<float>(inf));
  for (const std::int64_t cols : {1, 3, 17, 64, 65}) {
    std::vector<T> x(static_cast<std::size_t>(2 * cols), none);
    for (std::int64_t c = cols; c < 2 * cols; c += 2) x[static_cast<std::size_t>(c)] = T(1.0f);
    const double p = 1.0 / static_cast<double>((cols + 1) / 2);
    Buffer<B, T> in(x), y(2 * cols);
    B::template softmax_forward<T>(in, y, 2, cols);
    std::vector<double> expected(x.size());
    for (std::int64_t c = cols; c < 2 * cols; c += 2) expected[static_cast<std::size_t>(c)] = p;
    check_close("softmax", y.host(), expected, kernel_tolerance<T>);

    Buffer<B, std::int64_t> target(std::vector<std::int64_t>{0});
    Buffer<B, compute_t<T>> loss(1), lse(1);
    B::template cross_entropy_forward<T>(static_cast<T*>(in) + cols, static_cast<std::int64_t*>(target), static_cast<compute_t<T>*>(loss),
                                         static_cast<compute_t<T>*>(lse), 1, cols, -100);
    check_close("loss", loss.host(), std::vector<double>{-std::log(p)}, kernel_tolerance<compute_t<T>>);
    Buffer<B, T> d(cols);
    B::template cross_entropy_backward<T>(static_cast<T*>(in) + cols, static_cast<std::int64_t*>(target),
                                          static_cast<const compute_t<T>*>(static_cast<compute_t<T>*>(lse)), 1.0, static_cast<T*>(d), 1,
                                          cols, -100);
    std::vector<double> d_expected(expected.begin() + cols, expected.end());
    d_expected[0] -= 1;
    check_close("dlogits", d.host(), d_expected, kernel_tolerance<T>);
  }
}
