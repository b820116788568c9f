// The packed products themselves: operands with strides, edges of every block.
#include <cstdint>
#include <vector>

#include "cpu_support.hpp"

using namespace cpu_test;
using llm::cpu::Matrix;
using llm::cpu::MatrixColumns;
using llm::cpu::Output;

namespace {

const std::int64_t edges[] = {1, 7, 8, 9, 15, 16, 17, 47, 48, 49, 65};

/// A matrix inside a larger one, dense along its rows or its columns.
struct Operand {
  std::vector<float> values;
  Matrix<float> matrix;

  Operand(std::int64_t rows, std::int64_t cols, bool dense_rows, std::uint64_t seed)
      : values(random_values<float>((rows + 3) * (cols + 5), seed)),
        matrix(dense_rows ? Matrix<float>{values.data() + 2, cols + 5, 1} : Matrix<float>{values.data() + 2, 1, rows + 3}) {}
  double at(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(matrix.data[i * matrix.row_stride + j * matrix.col_stride]);
  }
};

/// The sums of a product in double.
std::vector<double> sums(const Operand& a, const Operand& b, std::int64_t M, std::int64_t N, std::int64_t K) {
  std::vector<double> c(static_cast<std::size_t>(M * N));
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j < N; ++j)
      for (std::int64_t k = 0; k < K; ++k) c[static_cast<std::size_t>(i * N + j)] += a.at(i, k) * b.at(k, j);
  return c;
}

void check_strided(std::int64_t M, std::int64_t N, std::int64_t K, bool a_rows, bool b_rows, bool add) {
  INFO("M " << M << " N " << N << " K " << K << " a " << a_rows << " b " << b_rows << " add " << add);
  const Operand a(M, K, a_rows, 1), b(K, N, b_rows, 2);
  const std::int64_t stride = N + 3;
  auto c = random_values<float>(M * stride, 3), bias = random_values<float>(N, 4);
  auto want = in_double(c);
  const auto ab = sums(a, b, M, N, K);
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j < N; ++j) {
      double& to = want[static_cast<std::size_t>(i * stride + j)];
      to = (add ? to : 0) + ab[static_cast<std::size_t>(i * N + j)] + static_cast<double>(bias[static_cast<std::size_t>(j)]);
    }
  llm::cpu::product(M, N, K, a.matrix, MatrixColumns<float>{b.matrix}, Output<float>{c.data(), stride, bias.data(), add});
  CHECK(distance(c, want) < 4e-5);  // also of what lies between the rows: nobody writes there
}

/// Forward and both gradients, one after the other.
std::vector<float> all_products(std::int64_t M, std::int64_t N, std::int64_t K) {
  const auto x = random_values<float>(M * K, 1), w = random_values<float>(N * K, 2), dy = random_values<float>(M * N, 3);
  std::vector<float> out(static_cast<std::size_t>(M * N + M * K + N * K));
  llm::Cpu::linear_forward<float>(x.data(), w.data(), nullptr, out.data(), M, N, K);
  llm::Cpu::linear_backward_input<float>(dy.data(), w.data(), out.data() + M * N, M, N, K, false);
  llm::Cpu::linear_backward_weight<float>(dy.data(), x.data(), out.data() + M * N + M * K, M, N, K, false);
  return out;
}

}  // namespace

TEST_CASE("products with operands dense along rows or columns, at every edge of a block") {
  for_each_isa([] {
    std::int64_t turn = 0;
    for (const std::int64_t M : edges)
      for (const std::int64_t N : edges) {
        const std::int64_t K = edges[turn++ % 11];
        check_strided(M, N, K, turn % 2 == 0, turn % 3 != 0, turn % 5 == 0);
      }
    for (const bool a_rows : {false, true})
      for (const bool b_rows : {false, true}) {
        check_strided(70, 130, 1100, a_rows, b_rows, false);  // several pieces of depth
        check_strided(70, 130, 1100, a_rows, b_rows, true);
        check_strided(520, 50, 450, a_rows, b_rows, true);  // the same, where columns lie far apart
        check_strided(81, 700, 33, a_rows, b_rows, true);
        check_strided(90, 900, 200, a_rows, b_rows, false);
        if (!a_rows) check_strided(2050, 515, 40, a_rows, b_rows, true);   // far apart, and packed for many columns,
        if (!a_rows) check_strided(2050, 515, 225, a_rows, b_rows, true);  // also when deeper than other far pieces
      }
  });
}

TEST_CASE("a product has the same bits whatever the number of threads and of rows") {
  for_each_isa([] {
    const std::int64_t shapes[][3] = {{600, 65, 600}, {600, 352, 600}, {64, 2050, 515}};
    for (const auto& [M, N, K] : shapes) {
      llm::set_num_threads(1);
      const auto one = bits(all_products(M, N, K));
      for (const int threads : {2, 3, 7}) {
        llm::set_num_threads(threads);
        CHECK(bits(all_products(M, N, K)) == one);
      }
    }
    llm::set_num_threads(0);
    if (llm::cpu::current_isa() == llm::cpu::Isa::portable) return;  // Eigen adds up the last rows of a product in another order
    const std::int64_t N = 100, K = 700;
    const auto x = random_values<float>(200 * K, 1), w = random_values<float>(N * K, 2);
    std::vector<float> all(static_cast<std::size_t>(200 * N)), some(all.size());
    llm::Cpu::linear_forward<float>(x.data(), w.data(), nullptr, all.data(), 200, N, K);
    for (const std::int64_t rows : {9, 31, 129}) {
      std::copy(all.begin() + rows * N, all.end(), some.begin() + rows * N);
      llm::Cpu::linear_forward<float>(x.data(), w.data(), nullptr, some.data(), rows, N, K);
      CHECK(bits(some) == bits(all));
    }
  });
}
