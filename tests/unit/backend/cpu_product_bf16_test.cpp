// Products of bf16 matrices on every instruction set: their numbers are exact where a product's terms are small whole numbers.
#include <array>
#include <limits>

#include "cpu_support.hpp"

using namespace cpu_test;
using llm::bf16;
using llm::cpu::Matrix;

namespace {

/// A matrix of small whole numbers, dense along its rows or its columns, with rows `gap` elements longer than they need be.
struct Whole {
  std::int64_t rows, cols, stride;
  bool by_rows;
  std::vector<bf16> values;

  Whole(std::int64_t r, std::int64_t c, bool dense_rows, std::int64_t gap, std::uint64_t seed)
      : rows(r), cols(c), stride((dense_rows ? c : r) + gap), by_rows(dense_rows) {
    llm::Rng rng(seed);
    values.resize(static_cast<std::size_t>((dense_rows ? r : c) * stride + 1));
    for (bf16& value : values) value = bf16(static_cast<float>(rng.below(17)) - 8);
  }
  Matrix<bf16> matrix() const {
    return by_rows ? llm::cpu::dense(values.data(), stride) : llm::cpu::dense(values.data(), stride).transposed();
  }
  double at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(by_rows ? i * stride + j : j * stride + i)]; }
};

struct Case {
  std::int64_t M, N, K, gap;
  bool a_rows, b_rows, with_bias, add;
};

template <class Out>
void check_exact(const Case& c) {
  INFO("M " << c.M << " N " << c.N << " K " << c.K << " gap " << c.gap << " a by rows " << c.a_rows << " b by rows " << c.b_rows << " bias "
            << c.with_bias << " add " << c.add);
  const Whole a(c.M, c.K, c.a_rows, c.gap, 1), b(c.K, c.N, c.b_rows, c.gap, 2);
  const std::int64_t stride = c.N + 3;
  std::vector<Out> out(static_cast<std::size_t>(c.M * stride), Out(5.0f)), bias(static_cast<std::size_t>(c.N), Out(-3.0f));
  llm::cpu::product(c.M, c.N, c.K, a.matrix(), llm::cpu::MatrixColumns<bf16>{b.matrix()},
                    llm::cpu::Output<Out>{out.data(), stride, c.with_bias ? bias.data() : nullptr, c.add});
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < c.M; ++i)
    for (std::int64_t j = 0; j < stride; ++j) {
      double want = (c.add ? 5 : 0) + (c.with_bias ? -3 : 0);
      for (std::int64_t k = 0; k < c.K && j < c.N; ++k) want += a.at(i, k) * b.at(k, j);
      const Out expected = j < c.N ? Out(static_cast<float>(want)) : Out(5.0f);
      wrong += static_cast<float>(out[static_cast<std::size_t>(i * stride + j)]) != static_cast<float>(expected);
    }
  CHECK(wrong == 0);
}

/// y[M, N] = x w^T for one K of values.
std::vector<float> products_of(const std::vector<bf16>& x, const std::vector<bf16>& w, std::int64_t K) {
  const auto M = static_cast<std::int64_t>(x.size()) / K, N = static_cast<std::int64_t>(w.size()) / K;
  std::vector<float> y(static_cast<std::size_t>(M * N));
  llm::cpu::product(M, N, K, llm::cpu::dense(x.data(), K), llm::cpu::MatrixColumns<bf16>{llm::cpu::dense(w.data(), K).transposed()},
                    llm::cpu::Output<float>{y.data(), N});
  return y;
}

}  // namespace

TEST_CASE("products of whole bf16 numbers are exact in every layout, to float and to bf16") {
  for_each_isa([] {
    for (const auto& [M, N, K] : {std::array<std::int64_t, 3>{1, 1, 1},
                                  {7, 17, 3},
                                  {8, 48, 32},
                                  {9, 49, 33},
                                  {15, 65, 31},
                                  {16, 16, 64},
                                  {17, 97, 65},
                                  {64, 40, 127},
                                  {70, 144, 129},
                                  {33, 50, 257},
                                  {100, 433, 70},
                                  {41, 65, 600}})
      for (int layout = 0; layout < 8; ++layout) {
        const Case c{M, N, K, layout % 3, (layout & 1) != 0, (layout & 2) != 0, (layout & 4) != 0, layout % 3 == 1};
        check_exact<float>(c);
        check_exact<bf16>(c);
      }
  });
}

TEST_CASE("products of bf16 numbers have the same bits on any number of threads") {
  for_each_isa([] {
    const std::int64_t M = 150, N = 210, K = 523;
    const auto x = random_values<bf16>(M * K, 1), w = random_values<bf16>(N * K, 2), dy = random_values<bf16>(M * N, 3);
    std::vector<std::vector<unsigned char>> results;
    for (const int threads : {1, 2, 3}) {
      llm::set_num_threads(threads);
      std::vector<bf16> y(dy.size()), dx(x.size());
      std::vector<float> dw(w.size(), 1.0f);
      llm::Cpu::linear_forward<bf16>(x.data(), w.data(), nullptr, y.data(), M, N, K);
      llm::Cpu::linear_backward_input<bf16>(dy.data(), w.data(), dx.data(), M, N, K, false);
      llm::Cpu::linear_backward_weight<bf16>(dy.data(), x.data(), dw.data(), M, N, K, true);
      std::vector<unsigned char> all = bits(y);
      for (const auto& more : {bits(dx), bits(dw)}) all.insert(all.end(), more.begin(), more.end());
      results.push_back(all);
    }
    llm::set_num_threads(0);
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  });
}

TEST_CASE("infinities and NaN pass through products of bf16 numbers and reach no other result") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for_each_isa([] {
    for (const std::int64_t K : {1, 2, 31, 33}) {
      std::vector<bf16> x(static_cast<std::size_t>(20 * K), bf16(1.0f)), w(static_cast<std::size_t>(17 * K), bf16(2.0f));
      x[static_cast<std::size_t>(4 * K - 1)] = bf16(inf);   // the last number of row 3
      x[static_cast<std::size_t>(6 * K - 1)] = bf16(-inf);  // of row 5
      x[static_cast<std::size_t>(7 * K)] = bf16(nan);       // the first of row 7
      w[static_cast<std::size_t>(17 * K - 1)] = bf16(0.0f);
      const std::vector<float> y = products_of(x, w, K);
      for (std::size_t i = 0; i < 20; ++i)
        for (std::size_t j = 0; j < 17; ++j) {
          const float value = y[i * 17 + j];
          INFO("K " << K << " row " << i << " column " << j << " value " << value);
          if (i == 7 || (j == 16 && (i == 3 || i == 5)))
            REQUIRE(std::isnan(value));  // infinity times zero
          else if (i == 3 || i == 5)
            REQUIRE(value == (i == 3 ? inf : -inf));
          else
            REQUIRE(value == static_cast<float>(j == 16 ? 2 * (K - 1) : 2 * K));
        }
    }
  });
}

TEST_CASE("vdpbf16ps takes subnormal numbers and sums for zero; other instruction sets keep them") {
  for_each_isa([] {
    const bool flushes = llm::cpu::current_isa() == llm::cpu::Isa::avx512_bf16;
    const float least_normal = std::numeric_limits<float>::min();
    const std::vector<bf16> x{bf16(least_normal / 4), bf16(0.0f), bf16(least_normal), bf16(0.0f), bf16(least_normal), bf16(1.0f)};
    const std::vector<bf16> w{bf16(1024.0f), bf16(1.0f)}, halves{bf16(0.5f), bf16(0.0f)};
    const std::vector<float> y = products_of(x, w, 2), small = products_of(x, halves, 2);
    CHECK(y[0] == (flushes ? 0.0f : least_normal * 256));  // a subnormal operand
    CHECK(y[1] == least_normal * 1024);
    CHECK(y[2] == 1.0f);
    CHECK(small[1] == (flushes ? 0.0f : least_normal / 2));  // a subnormal sum
  });
}
