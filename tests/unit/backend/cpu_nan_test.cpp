// One NaN among the operands of a product reaches the results that it is a term of, and no others: what pads vectors, pairs and blocks
// does not come from other rows.
#include <llm/core/quant.hpp>

#include <support/stored_rows.hpp>

#include "cpu_support.hpp"

using namespace cpu_test;
using llm::Cpu;

namespace {

template <class T>
std::vector<T> with_nan(std::vector<T> values, std::int64_t at) {
  values[static_cast<std::size_t>(at)] = T(std::numeric_limits<float>::quiet_NaN());
  return values;
}

/// How many of the results [rows, cols] are NaN where they should not be, or numbers where they should be NaN: row `row` and column
/// `col` where these are not negative.
template <class T>
std::int64_t misplaced(const std::vector<T>& results, std::int64_t cols, std::int64_t row, std::int64_t col) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    wrong += std::isnan(static_cast<double>(results[i])) != (at / cols == row || at % cols == col);
  }
  return wrong;
}

template <class T>
void check_products(std::int64_t M, std::int64_t N, std::int64_t K) {
  INFO("M " << M << " N " << N << " K " << K);
  const auto x = random_values<T>(M * K, 1), w = random_values<T>(N * K, 2), dy = random_values<T>(M * N, 3);
  std::vector<T> y(dy.size()), dx(x.size());
  std::vector<llm::compute_t<T>> dw(w.size());
  for (const std::int64_t m : {std::int64_t{0}, M / 2, M - 1})
    for (const std::int64_t n : {std::int64_t{0}, N / 2, N - 1})
      for (const std::int64_t k : {std::int64_t{0}, K - 1}) {
        INFO("NaN in row " << m << ", output " << n << ", input " << k);
        const auto bad_x = with_nan(x, m * K + k), bad_w = with_nan(w, n * K + k), bad_dy = with_nan(dy, m * N + n);
        Cpu::linear_forward<T>(bad_x.data(), w.data(), nullptr, y.data(), M, N, K);
        CHECK(misplaced(y, N, m, -1) == 0);
        Cpu::linear_forward<T>(x.data(), bad_w.data(), nullptr, y.data(), M, N, K);
        CHECK(misplaced(y, N, -1, n) == 0);
        Cpu::linear_backward_input<T>(bad_dy.data(), w.data(), dx.data(), M, N, K, false);
        CHECK(misplaced(dx, K, m, -1) == 0);
        Cpu::linear_backward_input<T>(dy.data(), bad_w.data(), dx.data(), M, N, K, false);
        CHECK(misplaced(dx, K, -1, k) == 0);
        Cpu::linear_backward_weight<T>(bad_dy.data(), x.data(), dw.data(), M, N, K, false);
        CHECK(misplaced(dw, K, n, -1) == 0);
        Cpu::linear_backward_weight<T>(dy.data(), bad_x.data(), dw.data(), M, N, K, false);
        CHECK(misplaced(dw, K, -1, k) == 0);
      }
}

template <class T>
void check_stored(llm::DType format, std::int64_t M, std::int64_t N, std::int64_t K) {
  INFO(llm::to_string(format) << " M " << M << " N " << N << " K " << K);
  const std::vector<std::byte> zeros(static_cast<std::size_t>(Cpu::stored_bytes(format, N, K)));
  std::vector<T> y(static_cast<std::size_t>(M * N));
  for (const std::int64_t m : {std::int64_t{0}, M - 1})
    for (const std::int64_t k : {std::int64_t{0}, K - 1}) {
      auto x = with_nan(random_values<T>(M * K, 1), m * K + k);
      Cpu::linear_forward_stored<T>(x.data(), format, zeros.data(), nullptr, y.data(), M, N, K);
      CHECK(misplaced(y, N, m, -1) == 0);
      x[static_cast<std::size_t>(m * K + k)] = T(-std::numeric_limits<float>::infinity());  // times zero is NaN
      Cpu::linear_forward_stored<T>(x.data(), format, zeros.data(), nullptr, y.data(), M, N, K);
      CHECK(misplaced(y, N, m, -1) == 0);
    }
}

/// Attention in which all of one KV head of one row of the batch is NaN: its query heads are, no others.
template <class T, class KV>
void check_attention(std::int64_t steps, std::int64_t S, std::int64_t E) {
  INFO("T " << steps << " S " << S << " E " << E);
  const std::int64_t B = 2, H = 4, K = 2;
  llm::AttentionArgs a{.B = B, .T = steps, .S = S, .H = H, .K = K, .E = E};
  a.kv_batch_stride = S * K * E;
  a.kv_position_stride = K * E;
  a.kv_head_stride = E;
  const auto q = random_values<T>(B * steps * H * E, 1);
  auto k = random_values<KV>(B * S * K * E, 2), v = k;
  for (std::int64_t s = 0; s < S; ++s)
    for (std::int64_t e = 0; e < E; ++e) v = with_nan(std::move(v), (s * K + 1) * E + e);  // of row 0, KV head 1
  for (const bool keys : {false, true}) {
    std::vector<T> y(q.size());
    Cpu::attention_forward<T, KV>(a, q.data(), keys ? v.data() : k.data(), keys ? k.data() : v.data(), y.data(), nullptr);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < B * steps * H * E; ++i)
      wrong += std::isnan(static_cast<double>(y[static_cast<std::size_t>(i)])) != (i / (steps * H * E) == 0 && i / E % H >= 2);
    CHECK(wrong == 0);
  }
}

template <class T>
void check_all() {
  for (const std::int64_t M : {1, 5, 9, 17})
    for (const std::int64_t N : {1, 5, 18, 49})
      for (const std::int64_t K : {1, 7, 16, 33}) check_products<T>(M, N, K);
  check_products<T>(30, 50, 401);
  check_products<T>(1030, 9, 17);
  llm_test::for_each_format([](llm::DType format, std::int64_t unit) {
    if (format == llm::DType::f64) return;
    for (const std::int64_t M : {1, 3, 8, 11})
      for (const std::int64_t N : {1, 5, 18})
        for (const std::int64_t K : {1, 3}) check_stored<T>(format, M, N, K * unit);
  });
}

}  // namespace

TEST_CASE("a NaN reaches the results that it is a term of, and no others") {
  llm::set_num_threads(2);
  for_each_isa([] {
    check_all<float>();
    check_all<llm::bf16>();
    for (const std::int64_t E : {5, 16, 33})
      for (const auto& [steps, S] : {std::pair{1, 5}, {1, 300}, {3, 70}, {66, 66}}) {
        check_attention<float, float>(steps, S, E);
        check_attention<float, llm::bf16>(steps, S, E);
        check_attention<llm::bf16, llm::bf16>(steps, S, E);
      }
  });
  check_all<double>();
  llm::set_num_threads(0);
}
