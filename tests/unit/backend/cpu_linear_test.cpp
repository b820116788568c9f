// The CPU backend's products against the reference in double.
#include <array>
#include <span>
#include <string>
#include <vector>

#include <llm/backend/cpu/rounded_product.hpp>
#include <support/stored_rows.hpp>

#include "cpu_support.hpp"

using namespace cpu_test;

namespace {

struct Sizes {
  std::int64_t M, N, K;
};

// Edges of every block: rows around 6, 8 and 24, columns around 8, 16, 48, depth around 256, few rows, empty sizes; and so many rows that a
// weight's gradient is added up in parts.
const Sizes sizes[] = {{1, 1, 1},     {3, 5, 7},     {8, 33, 64},    {9, 48, 16},    {25, 65, 128}, {64, 49, 31}, {100, 17, 1},
                       {7, 130, 257}, {50, 96, 256}, {33, 40, 300},  {130, 150, 70}, {5, 0, 3},     {0, 4, 3},    {4, 3, 0},
                       {20, 3, 0},    {1, 200, 96},  {1100, 70, 33}, {1601, 9, 130}, {1024, 0, 3},  {1024, 3, 0}};

template <class T>
struct Layer {
  Sizes s;
  std::vector<T> x, w, bias, dy;
  explicit Layer(Sizes z)
      : s(z),
        x(random_values<T>(z.M * z.K, 1)),
        w(random_values<T>(z.N * z.K, 2)),
        bias(random_values<T>(z.N, 3)),
        dy(random_values<T>(z.M * z.N, 4)) {}
};

// Sums of K terms: float errors grow with the root of K.
template <class T>
double allowed(std::int64_t terms) {
  return tolerance<T> * (1 + std::sqrt(static_cast<double>(terms)) / 4);
}

template <class T>
void check_all(Sizes z) {
  INFO("M " << z.M << " N " << z.N << " K " << z.K);
  const auto [M, N, K] = z;
  const Layer<T> layer(z);
  const auto x = in_double(layer.x), w = in_double(layer.w), bias = in_double(layer.bias), dy = in_double(layer.dy);
  for (const bool with_bias : {false, true}) {
    std::vector<T> y(layer.dy.size());
    std::vector<double> want(y.size());
    llm::Cpu::linear_forward<T>(layer.x.data(), layer.w.data(), with_bias ? layer.bias.data() : nullptr, y.data(), M, N, K);
    llm::Reference::linear_forward<double>(x.data(), w.data(), with_bias ? bias.data() : nullptr, want.data(), M, N, K);
    CHECK(distance(y, want) < allowed<T>(K));
  }
  for (const bool add : {false, true}) {
    using C = llm::compute_t<T>;
    auto dx = random_values<T>(M * K, 5);
    auto dw = random_values<C>(N * K, 6), db = random_values<C>(N, 7);
    auto want_dx = in_double(dx), want_dw = in_double(dw), want_db = in_double(db);
    llm::Cpu::linear_backward_input<T>(layer.dy.data(), layer.w.data(), dx.data(), M, N, K, add);
    llm::Cpu::linear_backward_weight<T>(layer.dy.data(), layer.x.data(), dw.data(), M, N, K, add);
    llm::Cpu::linear_backward_bias<T>(layer.dy.data(), db.data(), M, N, add);
    llm::Reference::linear_backward_input<double>(dy.data(), w.data(), want_dx.data(), M, N, K, add);
    llm::Reference::linear_backward_weight<double>(dy.data(), x.data(), want_dw.data(), M, N, K, add);
    llm::Reference::linear_backward_bias<double>(dy.data(), want_db.data(), M, N, add);
    CHECK(distance(dx, want_dx) < allowed<T>(N));
    CHECK(distance(dw, want_dw) < allowed<C>(M));  // sums, not rounded to T
    CHECK(distance(db, want_db) < allowed<C>(M));
  }
}

/// A row of x as products with block formats round it: a scale for every 32 values, bytes to the nearest.
std::vector<double> rounded(const std::vector<double>& x) {
  std::vector<double> y(x.size());
  for (std::size_t first = 0; first < x.size(); first += 32) {
    double largest = 0;
    for (std::size_t i = first; i < first + 32; ++i) largest = std::fmax(largest, std::fabs(x[i]));
    const float scale = static_cast<float>(largest) * (1 / 127.0f);
    const double inverse = static_cast<double>(1.0f / scale);  // no block of the tests is all zeros
    for (std::size_t i = first; i < first + 32; ++i) y[i] = static_cast<double>(scale) * std::nearbyint(x[i] * inverse);
  }
  return y;
}

template <class T>
void check_stored(llm::DType format, Sizes z, bool exact) {
  INFO(llm::to_string(format) << " M " << z.M << " N " << z.N << " K " << z.K << (exact ? " exact" : " rounded"));
  const auto [M, N, K] = z;
  const auto x = random_values<T>(M * K, 1), bias = random_values<T>(N, 3);
  const auto rows = llm_test::random_rows(format, N, K, 2), w = llm_test::kept_rows<llm::Cpu>(format, rows, N, K);
  const auto wide_bias = in_double(bias), plain_x = in_double(x);
  const auto wide_x = exact || !llm_test::is_block_format(format) ? plain_x : rounded(plain_x);
  std::vector<T> y(static_cast<std::size_t>(M * N));
  std::vector<double> want(y.size());
  llm::set_f32_activations(exact);
  llm::Cpu::linear_forward_stored<T>(x.data(), format, w.data(), bias.data(), y.data(), M, N, K);
  llm::set_f32_activations(false);
  llm::Reference::linear_forward_stored<double>(wide_x.data(), format, rows.data(), wide_bias.data(), want.data(), M, N, K);
  CHECK(distance(y, want) < allowed<T>(K));
}

}  // namespace

TEST_CASE("products of every size agree with the reference") {
  for_each_isa([] {
    for (const Sizes z : sizes) {
      check_all<float>(z);
      check_all<llm::bf16>(z);
    }
  });
  for (const Sizes z : sizes) check_all<double>(z);
}

TEST_CASE("a product wider than one chunk of packed columns agrees with the reference") {
  for_each_isa([] {
    check_all<float>({20, 700, 4000});
    check_all<llm::bf16>({30, 300, 5000});
  });
}

TEST_CASE("products with stored weights agree with the reference") {
  for_each_isa([] {
    llm_test::for_each_format([](llm::DType format, std::int64_t unit) {
      for (const Sizes z : {Sizes{1, 70, 2}, {2, 5, 1}, {3, 33, 3}, {8, 64, 9}, {9, 50, 2}, {40, 130, 1280 / unit}}) {
        check_stored<float>(format, {z.M, z.N, z.K * unit}, true);
        if (!llm_test::is_block_format(format)) continue;
        check_stored<float>(format, {z.M, z.N, z.K * unit}, false);
        check_stored<llm::bf16>(format, {z.M, z.N, z.K * unit}, false);
      }
    });
  });
  check_stored<double>(llm::DType::q8_0, {3, 4, 64}, true);
}

namespace {

/// f(x, y, M) multiplies M rows; the rows of 1 to 8 together have the bits of each alone.
template <class T, class F>
void check_rows_alone(std::int64_t N, std::int64_t K, const F& f) {
  const auto x = random_values<T>(8 * K, 1);
  std::vector<T> alone(static_cast<std::size_t>(8 * N));
  for (std::int64_t m = 0; m < 8; ++m) f(x.data() + m * K, alone.data() + m * N, 1);
  for (std::int64_t M = 2; M <= 8; ++M) {
    std::vector<T> together(static_cast<std::size_t>(M * N));
    f(x.data(), together.data(), M);
    INFO("rows " << M << ", N " << N << ", K " << K);
    CHECK(bits(together) == bits(std::vector<T>(alone.begin(), alone.begin() + M * N)));
  }
}

}  // namespace

TEST_CASE("a row of a small batch has the bits of the row alone") {
  for_each_isa([] {
    for (const std::int64_t N : {1, 37, 50})
      for (const std::int64_t K : {3, 75, 160}) {
        const auto w = random_values<float>(N * K, 2), bias = random_values<float>(N, 3);
        const auto narrow = random_values<llm::bf16>(N * K, 2);
        check_rows_alone<float>(
            N, K, [&](const float* x, float* y, std::int64_t M) { llm::Cpu::linear_forward<float>(x, w.data(), bias.data(), y, M, N, K); });
        check_rows_alone<llm::bf16>(N, K, [&](const llm::bf16* x, llm::bf16* y, std::int64_t M) {
          llm::Cpu::linear_forward<llm::bf16>(x, narrow.data(), nullptr, y, M, N, K);
        });
      }
    llm_test::for_each_format([](llm::DType format, std::int64_t unit) {
      const std::int64_t N = 37, K = 5 * unit;
      const auto w = llm_test::kept_rows<llm::Cpu>(format, llm_test::random_rows(format, N, K, 2), N, K);
      check_rows_alone<float>(N, K, [&](const float* x, float* y, std::int64_t M) {
        llm::Cpu::linear_forward_stored<float>(x, format, w.data(), nullptr, y, M, N, K);
      });
    });
  });
}

TEST_CASE("rows by packed weights have the bits of each row alone, however many there are, on any number of threads") {
  for_each_isa([] {
    llm_test::for_each_format([](llm::DType format, std::int64_t unit) {
      if (!llm_test::is_block_format(format)) return;
      const std::int64_t M = 61, N = 83, K = 2 * unit;
      INFO(llm::to_string(format));
      const auto w = llm_test::kept_rows<llm::Cpu>(format, llm_test::random_rows(format, N, K, 2), N, K);
      const auto x = random_values<float>(M * K, 1);
      std::vector<float> alone(static_cast<std::size_t>(M * N)), together(alone);
      llm::set_num_threads(1);
      for (std::int64_t m = 0; m < M; ++m)
        llm::Cpu::linear_forward_stored<float>(x.data() + m * K, format, w.data(), nullptr, alone.data() + m * N, 1, N, K);
      for (const int threads : {1, 2, 3}) {
        llm::set_num_threads(threads);
        llm::Cpu::linear_forward_stored<float>(x.data(), format, w.data(), nullptr, together.data(), M, N, K);
        CHECK(bits(together) == bits(alone));
      }
      llm::set_num_threads(0);
    });
  });
}

namespace {

/// Products of the same M rows, each in its own format and with another number of results, at once and one by one: bits are equal.
template <class T>
void check_together(std::span<const llm::DType> formats, std::int64_t M, std::int64_t K) {
  const auto x = random_values<T>(M * K, 1), bias = random_values<T>(200, 3);
  std::vector<std::vector<std::byte>> w;
  std::vector<std::vector<T>> alone, together;
  std::vector<llm::StoredProduct<T>> products;
  for (const llm::DType format : formats) {
    const auto N = static_cast<std::int64_t>(100 - 31 * w.size() % 97);
    w.push_back(llm_test::kept_rows<llm::Cpu>(format, llm_test::random_rows(format, N, K, 2), N, K));
    alone.emplace_back(static_cast<std::size_t>(M * N));
    together.push_back(alone.back());
    products.push_back({format, w.back().data(), w.size() % 2 == 0 ? nullptr : bias.data(), together.back().data(), N});
    llm::Cpu::linear_forward_stored<T>(x.data(), format, products.back().w, products.back().bias, alone.back().data(), M, N, K);
  }
  llm::Cpu::linear_forward_stored<T>(x.data(), products.data(), static_cast<std::int64_t>(products.size()), M, K);
  for (std::size_t i = 0; i < products.size(); ++i) {
    INFO(llm::to_string(formats[i]) << ", product " << i << ", rows " << M);
    CHECK(bits(together[i]) == bits(alone[i]));
  }
}

}  // namespace

TEST_CASE("products of the same rows have the bits of each alone, whatever their formats, on any number of threads") {
  using llm::DType;
  constexpr DType equal[] = {DType::q4_0, DType::q4_0, DType::q4_0},
                  many[] = {DType::q8_0, DType::q8_0, DType::q8_0, DType::q8_0, DType::q8_0}, alike[] = {DType::q4_0, DType::q5_0},
                  mixed[] = {DType::q4_1, DType::q4_1, DType::q6_k, DType::q8_0, DType::q4_k},
                  plain[] = {DType::bf16, DType::q8_0, DType::f32};
  for_each_isa([&] {
    for (const int threads : {1, 2, 3}) {
      llm::set_num_threads(threads);
      for (const std::int64_t M : {1, 3, 50})
        for (const std::span<const DType> formats : {std::span<const DType>(equal), {many}, {alike}, {mixed}, {plain}}) {
          check_together<float>(formats, M, 768);
          check_together<llm::bf16>(formats, M, 256);
        }
      llm::set_f32_activations(true);
      check_together<float>(mixed, 2, 256);
      llm::set_f32_activations(false);
      check_together<float>({}, 1, 256);
      check_together<float>(equal, 0, 256);
    }
    llm::set_num_threads(0);
  });
  check_together<double>(mixed, 2, 256);
}
