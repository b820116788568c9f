// Zeros, subnormal and huge numbers, infinities and NaN: every instruction set makes of them what the reference makes.
#include "cpu_support.hpp"

using namespace cpu_test;
using llm::Cpu;
using llm::Reference;

namespace {

/// Each number of both signs, several times, so that whole vectors and rests hold it.
template <class T>
std::vector<T> extremes(std::int64_t shift) {
  const float numbers[] = {0.0f,
                           1e-45f,
                           1e-40f,
                           2e-38f,
                           1e-20f,
                           1e-4f,
                           1.0f,
                           9.0f,
                           20.0f,
                           88.0f,
                           104.0f,
                           1e4f,
                           1e10f,
                           1e18f,
                           3e38f,
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  const std::int64_t n = std::size(numbers);
  std::vector<T> values;
  for (std::int64_t i = 0; i < 6 * n; ++i) values.push_back(T(numbers[(i * (1 + shift) + shift) % n] * (i / n % 2 == 0 ? 1.0f : -1.0f)));
  return values;
}

template <class T>
void check_activations() {
  const auto x = extremes<T>(0), dy = extremes<T>(3), up = extremes<T>(4);
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<T> got(x.size()), want(x.size()), got_up(x.size()), want_up(x.size());
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf}) {
    INFO("activation " << static_cast<int>(kind));
    Cpu::activation_forward<T>(kind, x.data(), got.data(), n);
    Reference::activation_forward<T>(kind, x.data(), want.data(), n);
    CHECK(distance(got, in_double(want)) < tolerance<T>);
    const std::vector<T> ones(x.size(), T(1.0f));
    Cpu::activation_backward<T>(kind, ones.data(), x.data(), got.data(), nullptr, n, false);
    Reference::activation_backward<T>(kind, ones.data(), x.data(), want.data(), nullptr, n, false);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (const float g = got[i], w = want[i]; !(g == w || (std::isnan(g) && std::isnan(w)) || std::fabs(g - w) < 1e-2f))
        FAIL_CHECK("slope at " << static_cast<float>(x[i]) << ": " << g << ", not " << w);
  }
  Cpu::gated_forward<T>(llm::Activation::silu, x.data(), up.data(), got.data(), n);
  Reference::gated_forward<T>(llm::Activation::silu, x.data(), up.data(), want.data(), n);
  CHECK(distance(got, in_double(want)) < tolerance<T>);
}

template <class T>
void check_elements() {
  const auto a = extremes<T>(0), b = extremes<T>(3);
  const auto n = static_cast<std::int64_t>(a.size());
  std::vector<T> got(a.size()), want(a.size());
  Cpu::add<T>(a.data(), b.data(), got.data(), n);
  Reference::add<T>(a.data(), b.data(), want.data(), n);
  CHECK(distance(got, in_double(want)) == 0);
  got = want = a;
  Cpu::scale<T>(got.data(), n, 0.5);
  Reference::scale<T>(want.data(), n, 0.5);
  CHECK(distance(got, in_double(want)) == 0);
  for (const double value : {0.0, -0.0, 1e-45, 1e38}) {
    Cpu::fill<T>(got.data(), n, value);
    Reference::fill<T>(want.data(), n, value);
    CHECK((bits(got) == bits(want)));
  }
}

void check_conversions() {
  auto wide = extremes<float>(0);
  for (const float x : {65504.0f, 65520.0f, 6e-8f, 2.9e-8f, 3.39e38f}) wide.push_back(x);
  const auto n = static_cast<std::int64_t>(wide.size());
  std::vector<llm::bf16> got(wide.size()), want(wide.size());
  Cpu::convert<llm::bf16, float>(got.data(), wide.data(), n);
  Reference::convert<llm::bf16, float>(want.data(), wide.data(), n);
  CHECK(distance(got, in_double(want)) == 0);
  std::vector<llm::f16> half(wide.begin(), wide.end());
  std::vector<float> got_wide(wide.size());
  Cpu::convert<float, llm::f16>(got_wide.data(), half.data(), n);
  CHECK(distance(got_wide, in_double(half)) == 0);
}

/// Rows that hold one extreme number beside ordinary ones.
template <class T>
void check_rows() {
  const auto numbers = extremes<T>(0);
  const std::int64_t cols = 21;
  const std::vector<T> gain(static_cast<std::size_t>(cols), T(1.0f));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto x = random_values<T>(cols, 1);
    x[i % x.size()] = numbers[i];
    INFO("number " << static_cast<float>(numbers[i]) << " at " << i % x.size());
    std::vector<T> got(x.size()), want(x.size());
    Cpu::softmax_forward<T>(x.data(), got.data(), 1, cols);
    Reference::softmax_forward<T>(x.data(), want.data(), 1, cols);
    CHECK(distance(got, in_double(want)) < tolerance<T>);
    llm::compute_t<T> loss, lse, want_loss, want_lse;
    const std::int32_t target = 3;
    Cpu::cross_entropy_forward<T>(x.data(), &target, &loss, &lse, 1, cols, -1);
    Reference::cross_entropy_forward<T>(x.data(), &target, &want_loss, &want_lse, 1, cols, -1);
    CHECK(distance(std::vector{loss, lse}, in_double(std::vector{want_loss, want_lse})) < 1e-5);
    Cpu::rms_norm_forward<T>(x.data(), gain.data(), got.data(), nullptr, 1, cols, 1e-5, llm::Rounding::round_then_gain);
    Reference::rms_norm_forward<T>(x.data(), gain.data(), want.data(), nullptr, 1, cols, 1e-5, llm::Rounding::round_then_gain);
    CHECK(distance(got, in_double(want)) < tolerance<T>);
    Cpu::layer_norm_forward<T>(x.data(), gain.data(), gain.data(), got.data(), nullptr, nullptr, 1, cols, 1e-5);
    Reference::layer_norm_forward<T>(x.data(), gain.data(), gain.data(), want.data(), nullptr, nullptr, 1, cols, 1e-5);
    CHECK(distance(got, in_double(want)) < 10 * tolerance<T>);
  }
}

}  // namespace

TEST_CASE("extreme numbers give the same on every instruction set") {
  for_each_isa([] {
    check_activations<float>();
    check_activations<llm::bf16>();
    check_elements<float>();
    check_elements<llm::bf16>();
    check_conversions();
    check_rows<float>();
    check_rows<llm::bf16>();
  });
}
