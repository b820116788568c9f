// The two functions of a BLAS that products need, written out, and a test that products come to them.
#include <support/catch.hpp>

#include <atomic>
#include <cstdint>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>

namespace {

std::atomic<std::int64_t> calls{0};  // from several threads

/// c = alpha op(a) op(b) + beta c, all along columns, as the standard of BLAS has it.
template <class S>
void multiply(char a_form, char b_form, int m, int n, int k, S alpha, const S* a, int a_stride, const S* b, int b_stride, S beta, S* c,
              int c_stride) {
  ++calls;
  const auto at = [](const S* p, char form, int stride, std::int64_t row, std::int64_t col) {
    return form == 'N' ? p[row + col * stride] : p[col + row * stride];
  };
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(at(a, a_form, a_stride, i, l)) * static_cast<double>(at(b, b_form, b_stride, l, j));
      S& to = c[i + j * c_stride];
      to = alpha * static_cast<S>(sum) + (beta == S(0) ? S(0) : beta * to);  // with 0, c need not hold numbers
    }
}

}  // namespace

extern "C" int sgemm_(const char* a_form, const char* b_form, const int* m, const int* n, const int* k, const float* alpha, const float* a,
                      const int* a_stride, const float* b, const int* b_stride, const float* beta, float* c, const int* c_stride) {
  multiply(*a_form, *b_form, *m, *n, *k, *alpha, a, *a_stride, b, *b_stride, *beta, c, *c_stride);
  return 0;
}
extern "C" int dgemm_(const char* a_form, const char* b_form, const int* m, const int* n, const int* k, const double* alpha,
                      const double* a, const int* a_stride, const double* b, const int* b_stride, const double* beta, double* c,
                      const int* c_stride) {
  multiply(*a_form, *b_form, *m, *n, *k, *alpha, a, *a_stride, b, *b_stride, *beta, c, *c_stride);
  return 0;
}

TEST_CASE("products of the portable kernels are the BLAS's when Eigen is told to use one") {
  const std::int64_t M = 20, N = 5, K = 7;
  const std::vector<float> x(static_cast<std::size_t>(M * K), 2.0f), w(static_cast<std::size_t>(N * K), 3.0f);
  std::vector<float> y(static_cast<std::size_t>(M * N));
  calls = 0;
  llm::Cpu::linear_forward<float>(x.data(), w.data(), nullptr, y.data(), M, N, K);
  CHECK(calls > 0);
  CHECK(y == std::vector<float>(y.size(), 42.0f));
}
