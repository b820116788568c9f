// The CPU backend's elementwise kernels against the reference in double.
#include <bit>
#include <cmath>

#include "cpu_support.hpp"

using namespace cpu_test;

namespace {

const std::int64_t lengths[] = {0, 1, 3, 4, 15, 16, 17, 100, 20000};

template <class T>
void check_sums_and_products(std::int64_t n) {
  INFO("n " << n);
  const auto a = random_values<T>(n, 1), b = random_values<T>(n, 2);
  const auto wide_a = in_double(a), wide_b = in_double(b);
  std::vector<T> y(a.size());
  std::vector<double> want(a.size());
  llm::Cpu::add<T>(a.data(), b.data(), y.data(), n);
  llm::Reference::add<double>(wide_a.data(), wide_b.data(), want.data(), n);
  CHECK(distance(y, want) < tolerance<T>);

  y = a;
  llm::Cpu::accumulate<T>(y.data(), b.data(), n);
  CHECK(distance(y, want) < tolerance<T>);
  using C = llm::compute_t<T>;
  std::vector<C> sums(a.begin(), a.end());
  llm::Cpu::accumulate<C, T>(sums.data(), b.data(), n);
  CHECK(distance(sums, want) < tolerance<C>);
  y = a;
  const std::vector<C> added(b.begin(), b.end());
  llm::Cpu::accumulate<T, C>(y.data(), added.data(), n);
  CHECK(distance(y, want) < tolerance<T>);

  llm::Cpu::copy<T>(y.data(), a.data(), n);
  llm::Cpu::scale<T>(y.data(), n, -1.5);
  want = wide_a;
  llm::Reference::scale<double>(want.data(), n, -1.5);
  CHECK(distance(y, want) < tolerance<T>);

  const llm::Elements<T> narrow{a.data(), n};
  const llm::Elements<double> wide{wide_a.data(), n};
  const double total = llm::Reference::sum<double>(wide_a.data(), n), squares = llm::Reference::sum_of_squares<double>(&wide, 1);
  CHECK(llm::Cpu::sum<T>(a.data(), n) == Approx(total).epsilon(1e-5).margin(1e-3));
  CHECK(llm::Cpu::sum_of_squares<T>(&narrow, 1) == Approx(squares).epsilon(1e-6));

  for (const double value : {0.0, 2.5}) {
    llm::Cpu::fill<T>(y.data(), n, value);
    CHECK(distance(y, std::vector<double>(y.size(), value)) == 0);
  }
}

template <class T>
void check_activations(std::int64_t n) {
  const auto x = random_values<T>(n, 1, 4), dy = random_values<T>(n, 2), up = random_values<T>(n, 3);
  const auto wide_x = in_double(x), wide_dy = in_double(dy), wide_up = in_double(up);
  std::vector<T> y(x.size());
  std::vector<double> want(x.size());
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf}) {
    INFO("activation " << static_cast<int>(kind) << " n " << n);
    llm::Cpu::activation_forward<T>(kind, x.data(), y.data(), n);
    llm::Reference::activation_forward<double>(kind, wide_x.data(), want.data(), n);
    CHECK(distance(y, want) < tolerance<T>);
    for (const bool add : {false, true}) {
      auto dx = random_values<T>(n, 4);
      auto want_dx = in_double(dx);
      llm::Cpu::activation_backward<T>(kind, dy.data(), x.data(), dx.data(), nullptr, n, add);
      llm::Reference::activation_backward<double>(kind, wide_dy.data(), wide_x.data(), want_dx.data(), nullptr, n, add);
      CHECK(distance(dx, want_dx) < tolerance<T>);
    }
  }
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf}) {
    INFO("gated activation " << static_cast<int>(kind) << " n " << n);
    llm::Cpu::gated_forward<T>(kind, x.data(), up.data(), y.data(), n);
    llm::Reference::gated_forward<double>(kind, wide_x.data(), wide_up.data(), want.data(), n);
    CHECK(distance(y, want) < tolerance<T>);
    for (const bool add : {false, true}) {
      auto dgate = random_values<T>(n, 5), dup = random_values<T>(n, 6);
      auto want_dgate = in_double(dgate), want_dup = in_double(dup);
      llm::Cpu::gated_backward<T>(kind, dy.data(), x.data(), up.data(), dgate.data(), dup.data(), nullptr, n, add, !add);
      llm::Reference::gated_backward<double>(kind, wide_dy.data(), wide_x.data(), wide_up.data(), want_dgate.data(), want_dup.data(),
                                             nullptr, n, add, !add);
      CHECK(distance(dgate, want_dgate) < tolerance<T>);
      CHECK(distance(dup, want_dup) < tolerance<T>);
    }
  }
}

/// A gradient may be written over the values that it is the gradient of.
template <class T>
void check_activations_in_place(std::int64_t n) {
  const auto x = random_values<T>(n, 1, 4), dy = random_values<T>(n, 2), up = random_values<T>(n, 3);
  auto over = x, over_up = up;
  std::vector<T> y(x.size()), dx(x.size()), dup(x.size());
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf}) {
    over = x;
    llm::Cpu::activation_backward<T>(kind, dy.data(), x.data(), dx.data(), nullptr, n, false);
    llm::Cpu::activation_backward<T>(kind, dy.data(), over.data(), over.data(), nullptr, n, false);
    CHECK(bits(over) == bits(dx));
    over = dy;
    llm::Cpu::activation_forward<T>(kind, x.data(), y.data(), n);
    llm::Cpu::activation_backward<T>(kind, over.data(), x.data(), dup.data(), over.data(), n, false);
    CHECK(bits(over) == bits(y));
    CHECK(bits(dup) == bits(dx));
  }
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf}) {
    over = x, over_up = up;
    llm::Cpu::gated_backward<T>(kind, dy.data(), x.data(), up.data(), dx.data(), dup.data(), nullptr, n, false, false);
    llm::Cpu::gated_backward<T>(kind, dy.data(), over.data(), over_up.data(), over.data(), over_up.data(), nullptr, n, false, false);
    CHECK(bits(over) == bits(dx));
    CHECK(bits(over_up) == bits(dup));
    over = dy;
    llm::Cpu::gated_forward<T>(kind, x.data(), up.data(), y.data(), n);
    llm::Cpu::gated_backward<T>(kind, over.data(), x.data(), up.data(), dx.data(), dup.data(), over.data(), n, false, false);
    CHECK(bits(over) == bits(y));
    CHECK(bits(over_up) == bits(dup));
  }
}

template <class T>
void check_adamw(std::int64_t n, bool with_master) {
  using Moment = llm::compute_t<T>;
  const llm::AdamWArgs args{
      .lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .correction1 = 0.19, .correction2 = 0.0975, .grad_scale = 0.5};
  auto param = random_values<T>(n, 1);
  const auto grad = random_values<Moment>(n, 2);
  std::vector<Moment> master(param.begin(), param.end()), m = random_values<Moment>(n, 3, 0.1), v = random_values<Moment>(n, 4, 0.1);
  for (auto& value : v) value *= value;
  if (n > 0) v[0] = 0;
  auto want = in_double(param), want_m = in_double(m), want_v = in_double(v);
  const auto wide_grad = in_double(grad);
  const llm::AdamWPart<T> part{param.data(), with_master ? master.data() : nullptr, grad.data(), m.data(), v.data(), n, 0.1};
  const llm::AdamWPart<double> wide{want.data(), nullptr, wide_grad.data(), want_m.data(), want_v.data(), n, 0.1};
  llm::Cpu::adamw<T>(args, &part, 1);
  llm::Reference::adamw<double>(args, &wide, 1);
  CHECK(distance(m, want_m) < 1e-6);
  CHECK(distance(v, want_v) < 1e-6);
  CHECK(distance(param, want) < tolerance<T>);
  if (with_master) CHECK(distance(master, want) < 1e-6);
}

}  // namespace

TEST_CASE("elementwise kernels agree with the reference") {
  for_each_isa([] {
    for (const std::int64_t n : lengths) {
      check_sums_and_products<float>(n);
      check_sums_and_products<llm::bf16>(n);
    }
  });
  check_sums_and_products<double>(100);
}

TEST_CASE("activations agree with the reference") {
  for_each_isa([] {
    for (const std::int64_t n : lengths) {
      check_activations<float>(n);
      check_activations<llm::bf16>(n);
      check_activations_in_place<float>(n);
      check_activations_in_place<llm::bf16>(n);
    }
  });
  check_activations<double>(100);
  check_activations_in_place<double>(100);
}

TEST_CASE("activations of large and non-finite arguments") {
  for_each_isa([] {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> x{-1000, -104, -90, 90, 1000, std::numeric_limits<float>::quiet_NaN(), inf};
    std::vector<float> y(x.size());
    for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf}) {
      llm::Cpu::activation_forward<float>(kind, x.data(), y.data(), static_cast<std::int64_t>(x.size()));
      CHECK(std::fabs(y[0]) < 1e-30f);
      CHECK(y[3] == 90.0f);
      CHECK(y[4] == 1000.0f);
      CHECK(std::isnan(y[5]));
      CHECK(y[6] == inf);
    }
  });
}

TEST_CASE("adamw agrees with the reference, with and without a master copy") {
  for_each_isa([] {
    for (const std::int64_t n : lengths)
      for (const bool with_master : {false, true}) {
        check_adamw<float>(n, with_master);
        check_adamw<llm::bf16>(n, with_master);
      }
  });
  check_adamw<double>(50, true);
}

/// Parameters of every size, among them none, one element, and several blocks, in one call; m and v side by side in `moments`.
template <class T>
void check_parts() {
  const std::int64_t sizes[]{3, 0, 40000, 1, 16384, 17, 16385};
  const std::int64_t total = 3 + 40000 + 1 + 16384 + 17 + 16385;
  const llm::AdamWArgs args{.lr = 0.01, .correction1 = 0.19, .correction2 = 0.0975, .grad_scale = 0.5};
  auto param = random_values<T>(total, 1);
  const auto grad = random_values<llm::compute_t<T>>(total, 2);
  std::vector<llm::compute_t<T>> moments(static_cast<std::size_t>(2 * total));
  auto want = in_double(param), want_moments = in_double(moments);
  const auto wide_grad = in_double(grad);
  std::vector<llm::AdamWPart<T>> parts;
  std::vector<llm::AdamWPart<double>> wide_parts;
  std::vector<llm::Elements<llm::compute_t<T>>> arrays;
  std::int64_t at = 0;
  for (const std::int64_t n : sizes) {
    const double decay = n % 2 == 0 ? 0.1 : 0.0;
    parts.push_back({param.data() + at, nullptr, grad.data() + at, moments.data() + at, moments.data() + total + at, n, decay});
    wide_parts.push_back(
        {want.data() + at, nullptr, wide_grad.data() + at, want_moments.data() + at, want_moments.data() + total + at, n, decay});
    arrays.push_back({grad.data() + at, n});
    at += n;
  }
  const llm::Elements<double> all{wide_grad.data(), total};
  CHECK(llm::Cpu::sum_of_squares<llm::compute_t<T>>(arrays.data(), 7) ==
        Approx(llm::Reference::sum_of_squares<double>(&all, 1)).epsilon(1e-6));
  llm::Cpu::adamw<T>(args, parts.data(), 7);
  llm::Reference::adamw<double>(args, wide_parts.data(), 7);
  CHECK(distance(param, want) < tolerance<T>);
  CHECK(distance(moments, want_moments) < 1e-6);
}

TEST_CASE("adamw and sum_of_squares of many parameters at once agree with the reference") {
  for (const int threads : {1, 2, 3}) {
    llm::set_num_threads(threads);
    for_each_isa([] {
      check_parts<float>();
      check_parts<llm::bf16>();
    });
    check_parts<double>();
  }
  llm::set_num_threads(0);
  CHECK(llm::Cpu::sum_of_squares<float>(nullptr, 0) == 0.0);
  llm::Cpu::adamw<float>({}, nullptr, 0);
}

TEST_CASE("conversion rounds to nearest even and keeps infinities and NaN") {
  for_each_isa([] {
    std::vector<float> x = random_values<float>(100, 1);
    x[0] = 1.00390625f;  // half way between two bf16 values
    x[1] = 1.01171875f;
    x[2] = std::numeric_limits<float>::infinity();
    x[3] = std::numeric_limits<float>::quiet_NaN();
    x[4] = 3.4e38f;
    std::vector<llm::bf16> got(x.size()), want(x.size());
    llm::Cpu::convert<llm::bf16, float>(got.data(), x.data(), 100);
    llm::Reference::convert<llm::bf16, float>(want.data(), x.data(), 100);
    CHECK(bits(got) == bits(want));
    std::vector<float> back(x.size()), want_back(x.size());
    llm::Cpu::convert<float, llm::bf16>(back.data(), got.data(), 100);
    llm::Reference::convert<float, llm::bf16>(want_back.data(), got.data(), 100);
    CHECK(bits(back) == bits(want_back));
  });
}

TEST_CASE("floats of every kind, and of every length of a rest, round to the bf16 of the reference") {
  for_each_isa([] {
    std::vector<float> x;
    for (std::uint32_t upper = 0; upper < 0x10000; upper += 13)  // every exponent: zero, subnormal, infinite, NaN
      for (const std::uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) x.push_back(std::bit_cast<float>(upper << 16 | lower));
    const auto n = static_cast<std::int64_t>(x.size());
    std::vector<llm::bf16> got(x.size()), want(x.size());
    llm::Cpu::convert<llm::bf16, float>(got.data(), x.data(), n);
    llm::Reference::convert<llm::bf16, float>(want.data(), x.data(), n);
    CHECK(bits(got) == bits(want));
    for (std::int64_t length = 0; length < 40; ++length) {
      std::vector<llm::bf16> some(50, llm::bf16(7.0f));
      llm::Cpu::convert<llm::bf16, float>(some.data(), x.data(), length);
      for (std::int64_t i = 0; i < 50; ++i)
        REQUIRE(some[static_cast<std::size_t>(i)].bits == (i < length ? want[static_cast<std::size_t>(i)].bits : llm::bf16(7.0f).bits));
    }
  });
}

TEST_CASE("every f16 number widens to its value, and NaN to NaN") {
  for_each_isa([] {
    std::vector<llm::f16> x(1 << 16);
    for (std::size_t i = 0; i < x.size(); ++i) x[i].bits = static_cast<std::uint16_t>(i);
    std::vector<float> got(x.size());
    llm::Cpu::convert<float, llm::f16>(got.data(), x.data(), 1 << 16);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float want = x[i];
      wrong += std::isnan(want) ? !std::isnan(got[i]) : std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(want);
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("random initialisation has the bits of the reference") {
  std::vector<float> got(40000), want(40000);
  llm::Cpu::fill_normal<float>(got.data(), 40000, 3, 9, 0.02);
  llm::Reference::fill_normal<float>(want.data(), 40000, 3, 9, 0.02);
  CHECK(bits(got) == bits(want));
}
