// The CPU backend's softmax, cross-entropy, norms, rotary embedding and embedding against the reference in double.
#include <cmath>

#include "cpu_support.hpp"

using namespace cpu_test;

namespace {

struct Sizes {
  std::int64_t rows, cols;
};
const Sizes sizes[] = {{1, 1}, {5, 3}, {7, 16}, {40, 65}, {130, 33}, {3, 1000}, {0, 4}, {300, 32}, {150, 130}};
constexpr float minus_inf = -std::numeric_limits<float>::infinity();

template <class T>
void check_softmax(Sizes s) {
  const std::int64_t n = s.rows * s.cols;
  auto x = random_values<T>(n, 1, 3);
  if (s.rows > 2) {
    for (std::int64_t c = 0; c < s.cols; ++c) x[static_cast<std::size_t>(c)] = T(minus_inf);  // a row without any choice
    x[static_cast<std::size_t>(s.cols)] = T(minus_inf);
    x[static_cast<std::size_t>(2 * s.cols)] = T(100.0f);
  }
  const auto dy = random_values<T>(n, 2);
  const auto wide_x = in_double(x), wide_dy = in_double(dy);
  std::vector<T> y(x.size());
  std::vector<double> want(x.size());
  llm::Cpu::softmax_forward<T>(x.data(), y.data(), s.rows, s.cols);
  llm::Reference::softmax_forward<double>(wide_x.data(), want.data(), s.rows, s.cols);
  CHECK(distance(y, want) < tolerance<T>);
  const auto wide_y = in_double(y);
  for (const bool add : {false, true}) {
    auto dx = random_values<T>(n, 3);
    auto want_dx = in_double(dx);
    llm::Cpu::softmax_backward<T>(dy.data(), y.data(), dx.data(), s.rows, s.cols, add);
    llm::Reference::softmax_backward<double>(wide_dy.data(), wide_y.data(), want_dx.data(), s.rows, s.cols, add);
    CHECK(distance(dx, want_dx) < tolerance<T>);
  }
}

template <class T>
void check_cross_entropy(Sizes s) {
  using C = llm::compute_t<T>;
  const auto logits = random_values<T>(s.rows * s.cols, 1, 10);
  std::vector<std::int64_t> targets(static_cast<std::size_t>(s.rows));
  for (std::size_t r = 0; r < targets.size(); ++r) targets[r] = r % 5 == 3 ? -100 : static_cast<std::int64_t>(r * 7) % s.cols;
  const auto wide = in_double(logits);
  std::vector<C> losses(targets.size()), lse(targets.size());
  std::vector<double> want_losses(targets.size()), want_lse(targets.size());
  llm::Cpu::cross_entropy_forward<T>(logits.data(), targets.data(), losses.data(), lse.data(), s.rows, s.cols, -100);
  llm::Reference::cross_entropy_forward<double>(wide.data(), targets.data(), want_losses.data(), want_lse.data(), s.rows, s.cols, -100);
  CHECK(distance(losses, want_losses) < 1e-5);
  CHECK(distance(lse, want_lse) < 1e-5);
  auto in_place = logits;
  std::vector<double> want(wide.size());
  llm::Cpu::cross_entropy_backward<T>(in_place.data(), targets.data(), lse.data(), 0.25, in_place.data(), s.rows, s.cols, -100);
  llm::Reference::cross_entropy_backward<double>(wide.data(), targets.data(), want_lse.data(), 0.25, want.data(), s.rows, s.cols, -100);
  CHECK(distance(in_place, want) < tolerance<T>);
}

template <class T>
void check_rms_norm(Sizes s) {
  using C = llm::compute_t<T>;
  const std::int64_t n = s.rows * s.cols;
  const auto x = random_values<T>(n, 1, 2), gain = random_values<T>(s.cols, 2), dy = random_values<T>(n, 3);
  const auto wide_x = in_double(x), wide_gain = in_double(gain), wide_dy = in_double(dy);
  std::vector<T> y(x.size());
  std::vector<C> inverse(static_cast<std::size_t>(s.rows));
  std::vector<double> want(x.size()), want_inverse(inverse.size());
  for (const auto rounding : {llm::Rounding::round_then_gain, llm::Rounding::gain_then_round}) {
    llm::Cpu::rms_norm_forward<T>(x.data(), gain.data(), y.data(), inverse.data(), s.rows, s.cols, 1e-5, rounding);
    llm::Reference::rms_norm_forward<double>(wide_x.data(), wide_gain.data(), want.data(), want_inverse.data(), s.rows, s.cols, 1e-5,
                                             rounding);
    CHECK(distance(y, want) < 2 * tolerance<T>);
    CHECK(distance(inverse, want_inverse) < 1e-5);
  }
  llm::Cpu::rms_norm_forward<T>(x.data(), gain.data(), y.data(), nullptr, s.rows, s.cols, 1e-5, llm::Rounding::gain_then_round);
  CHECK(distance(y, want) < tolerance<T>);
  for (const bool add : {false, true}) {
    auto dx = random_values<T>(n, 4);
    auto dgain = random_values<C>(s.cols, 5);
    auto want_dx = in_double(dx), want_dgain = in_double(dgain);
    llm::Cpu::rms_norm_backward<T>(dy.data(), x.data(), gain.data(), inverse.data(), dx.data(), dgain.data(), s.rows, s.cols, add, !add);
    llm::Reference::rms_norm_backward<double>(wide_dy.data(), wide_x.data(), wide_gain.data(), want_inverse.data(), want_dx.data(),
                                              want_dgain.data(), s.rows, s.cols, add, !add);
    CHECK(distance(dx, want_dx) < 2 * tolerance<T>);
    CHECK(distance(dgain, want_dgain) < 2 * tolerance<C>);
  }
  std::vector<T> apart(x.size());
  std::vector<C> dgain(gain.size()), again(gain.size());
  auto over = dy;
  llm::Cpu::rms_norm_backward<T>(dy.data(), x.data(), gain.data(), inverse.data(), apart.data(), dgain.data(), s.rows, s.cols, false,
                                 false);
  llm::Cpu::rms_norm_backward<T>(over.data(), x.data(), gain.data(), inverse.data(), over.data(), again.data(), s.rows, s.cols, false,
                                 false);
  CHECK(bits(over) == bits(apart));
  CHECK(bits(again) == bits(dgain));
}

template <class T>
void check_layer_norm(Sizes s) {
  using C = llm::compute_t<T>;
  const std::int64_t n = s.rows * s.cols;
  const auto x = random_values<T>(n, 1, 2), gain = random_values<T>(s.cols, 2), bias = random_values<T>(s.cols, 6);
  const auto dy = random_values<T>(n, 3);
  const auto wide_x = in_double(x), wide_gain = in_double(gain), wide_bias = in_double(bias), wide_dy = in_double(dy);
  std::vector<T> y(x.size());
  std::vector<C> mean(static_cast<std::size_t>(s.rows)), inverse(mean.size());
  std::vector<double> want(x.size()), want_mean(mean.size()), want_inverse(mean.size());
  llm::Cpu::layer_norm_forward<T>(x.data(), gain.data(), bias.data(), y.data(), mean.data(), inverse.data(), s.rows, s.cols, 1e-5);
  llm::Reference::layer_norm_forward<double>(wide_x.data(), wide_gain.data(), wide_bias.data(), want.data(), want_mean.data(),
                                             want_inverse.data(), s.rows, s.cols, 1e-5);
  CHECK(distance(y, want) < tolerance<T>);
  CHECK(distance(inverse, want_inverse) < 1e-4);
  llm::Cpu::layer_norm_forward<T>(x.data(), gain.data(), bias.data(), y.data(), nullptr, nullptr, s.rows, s.cols, 1e-5);
  CHECK(distance(y, want) < tolerance<T>);
  for (const bool add : {false, true}) {
    auto dx = random_values<T>(n, 4);
    auto dgain = random_values<C>(s.cols, 5), dbias = random_values<C>(s.cols, 7);
    auto want_dx = in_double(dx), want_dgain = in_double(dgain), want_dbias = in_double(dbias);
    llm::Cpu::layer_norm_backward<T>(dy.data(), x.data(), gain.data(), mean.data(), inverse.data(), dx.data(), dgain.data(), dbias.data(),
                                     s.rows, s.cols, add, !add);
    llm::Reference::layer_norm_backward<double>(wide_dy.data(), wide_x.data(), wide_gain.data(), want_mean.data(), want_inverse.data(),
                                                want_dx.data(), want_dgain.data(), want_dbias.data(), s.rows, s.cols, add, !add);
    if (s.cols > 1) CHECK(distance(dx, want_dx) < 4 * tolerance<T>);
    CHECK(distance(dgain, want_dgain) < 2 * tolerance<C>);
    CHECK(distance(dbias, want_dbias) < 2 * tolerance<C>);
  }
  std::vector<T> apart(x.size());
  std::vector<C> dgain(gain.size()), dbias(gain.size());
  auto over = dy;
  for (T* const dx : {apart.data(), over.data()})
    llm::Cpu::layer_norm_backward<T>(dx == over.data() ? dx : dy.data(), x.data(), gain.data(), mean.data(), inverse.data(), dx,
                                     dgain.data(), dbias.data(), s.rows, s.cols, false, false);
  CHECK(bits(over) == bits(apart));
}

template <class T>
void check_rope(std::int64_t E, std::int64_t width, bool interleaved, bool inverse, bool add) {
  const std::int64_t B = 2, steps = 5, heads = 3, n = B * steps * heads * E;
  INFO("E " << E << " width " << width << " interleaved " << interleaved);
  const auto x = random_values<T>(n, 1);
  const auto cosines = random_values<float>(20 * width / 2, 2), sines = random_values<float>(20 * width / 2, 3);
  const std::vector<std::int64_t> starts{4, 11};
  const llm::RopeArgs args{.B = B,
                           .T = steps,
                           .heads = heads,
                           .E = E,
                           .width = width,
                           .cos = cosines.data(),
                           .sin = sines.data(),
                           .starts = add ? starts.data() : nullptr,
                           .start = 2,
                           .interleaved = interleaved,
                           .inverse = inverse};
  auto y = random_values<T>(n, 4);
  auto want = in_double(y);
  const auto wide_x = in_double(x);
  llm::Cpu::rope<T>(args, x.data(), y.data(), add);
  llm::Reference::rope<double>(args, wide_x.data(), want.data(), add);
  CHECK(distance(y, want) < tolerance<T>);
  auto in_place = x;
  auto want_in_place = wide_x;
  llm::Cpu::rope<T>(args, in_place.data(), in_place.data(), false);
  llm::Reference::rope<double>(args, wide_x.data(), want_in_place.data(), false);
  CHECK(distance(in_place, want_in_place) < tolerance<T>);
}

template <class T>
void check_embedding() {
  const std::int64_t n = 300, V = 11, D = 70;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i % 11);
  const auto table = random_values<T>(V * D, 1), dy = random_values<T>(n * D, 2, 0.1);
  std::vector<T> y(dy.size()), want(dy.size());
  llm::Cpu::embedding_forward<T>(ids.data(), table.data(), y.data(), n, D);
  llm::Reference::embedding_forward<T>(ids.data(), table.data(), want.data(), n, D);
  CHECK(bits(y) == bits(want));
  std::vector<llm::compute_t<T>> dtable(table.begin(), table.end()), want_dtable = dtable;
  llm::Cpu::embedding_backward<T>(ids.data(), dy.data(), dtable.data(), n, V, D);
  llm::Reference::embedding_backward<T>(ids.data(), dy.data(), want_dtable.data(), n, V, D);
  CHECK(bits(dtable) == bits(want_dtable));
}

template <class F>
void with_both_types(const F& f) {
  for_each_isa([&] {
    f(0.0f);
    f(llm::bf16{});
  });
  f(0.0);
}

}  // namespace

TEST_CASE("softmax agrees with the reference, rows of -inf included") {
  with_both_types([](auto type) {
    for (const Sizes s : sizes) check_softmax<decltype(type)>(s);
  });
}

TEST_CASE("cross-entropy agrees with the reference, in place and with ignored rows") {
  with_both_types([](auto type) {
    for (const Sizes s : sizes) check_cross_entropy<decltype(type)>(s);
  });
}

TEST_CASE("norms agree with the reference") {
  with_both_types([](auto type) {
    for (const Sizes s : sizes) {
      INFO("rows " << s.rows << " cols " << s.cols);
      check_rms_norm<decltype(type)>(s);
      check_layer_norm<decltype(type)>(s);
    }
  });
}

TEST_CASE("RMSNorm in bf16 rounds as asked for") {
  for_each_isa([] {
    const auto x = random_values<llm::bf16>(50 * 40, 1), gain = random_values<llm::bf16>(40, 2);
    std::vector<llm::bf16> got(x.size()), want(x.size());
    for (const auto rounding : {llm::Rounding::round_then_gain, llm::Rounding::gain_then_round}) {
      llm::Cpu::rms_norm_forward<llm::bf16>(x.data(), gain.data(), got.data(), nullptr, 50, 40, 1e-5, rounding);
      llm::Reference::rms_norm_forward<llm::bf16>(x.data(), gain.data(), want.data(), nullptr, 50, 40, 1e-5, rounding);
      std::size_t different = 0;
      for (std::size_t i = 0; i < got.size(); ++i) different += got[i].bits != want[i].bits;
      CHECK(different <= 5);  // where sums in another order round the other way
    }
  });
}

TEST_CASE("rotary embedding agrees with the reference") {
  with_both_types([](auto type) {
    for (const auto& [E, width] : {std::pair{8, 8}, {32, 32}, {70, 66}, {20, 6}, {16, 0}})
      for (const bool interleaved : {false, true})
        for (const bool inverse : {false, true})
          for (const bool add : {false, true}) check_rope<decltype(type)>(E, width, interleaved, inverse, add);
  });
}

TEST_CASE("embedding has the bits of the reference") {
  with_both_types([](auto type) { check_embedding<decltype(type)>(); });
}

namespace {

/// A row of -inf with NaN at some place and 5 at another, or without it: nothing of its softmax and its loss is a number.
template <class B, class T>
void check_row_with_nan(std::int64_t cols, std::int64_t nan, std::int64_t five) {
  INFO("cols " << cols << ", NaN at " << nan << ", 5 at " << five);
  std::vector<T> x(static_cast<std::size_t>(cols), T(-std::numeric_limits<float>::infinity())), y(x.size());
  if (five >= 0) x[static_cast<std::size_t>(five)] = T(5.0f);
  x[static_cast<std::size_t>(nan)] = T(std::numeric_limits<float>::quiet_NaN());
  B::template softmax_forward<T>(x.data(), y.data(), 1, cols);
  std::size_t numbers = 0;
  for (const T value : y) numbers += !std::isnan(static_cast<double>(value));
  CHECK(numbers == 0);
  llm::compute_t<T> loss = 0, lse = 0;
  for (const std::int32_t target : {0, static_cast<std::int32_t>(cols - 1)}) {
    B::template cross_entropy_forward<T>(x.data(), &target, &loss, &lse, 1, cols, -100);
    CHECK(std::isnan(lse));
    CHECK(std::isnan(loss));
  }
}

template <class B, class T>
void check_rows_with_nan() {
  for (const std::int64_t cols : {1, 2, 7, 16, 33, 70})
    for (std::int64_t nan = 0; nan < cols; ++nan) {
      check_row_with_nan<B, T>(cols, nan, -1);
      if (nan > 0) check_row_with_nan<B, T>(cols, nan, nan % 16 == 0 ? 0 : nan - 1);
    }
}

}  // namespace

TEST_CASE("a row of logits with one NaN has no softmax and no loss, not even beside -inf") {
  with_both_types([](auto type) { check_rows_with_nan<llm::Cpu, decltype(type)>(); });
  check_rows_with_nan<llm::Reference, float>();
  check_rows_with_nan<llm::Reference, llm::bf16>();
}
