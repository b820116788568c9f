// Matrix products: those of training, forward and both gradients, in f32 and bf16, beside the multiply-add peak; and those of decoding,
// few rows times a matrix in each storage format, beside the read bandwidth.
#include <algorithm>
#include <cstdint>
#include <string>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/tensor/tensor.hpp>

#include "support/benchmark.hpp"
#include "support/product_shapes.hpp"

namespace {

using bench::ProductShape;
using bench::State;

template <class T>
using Matrix = llm::Tensor<T, llm::Shape<llm::dyn, llm::dyn>>;

template <class T>
Matrix<T> random_matrix(std::int64_t rows, std::int64_t cols) {
  auto m = Matrix<T>::empty({rows, cols});
  llm::Cpu::fill_normal<T>(m.data(), m.numel(), 1, 0, 1.0);
  return m;
}

/// Matrices with room for every shape: made once, since filling them takes longer than a product.
template <class T>
struct Operands {
  Matrix<T> x, w, y;
  Matrix<llm::compute_t<T>> dw;

  static Operands& instance() {
    static Operands operands = largest();
    return operands;
  }

 private:
  static Operands largest() {
    std::int64_t x = 0, w = 0, y = 0;
    for (const ProductShape& s : bench::product_shapes) {
      x = (std::max)(x, s.M * s.K);
      w = (std::max)(w, s.N * s.K);
      y = (std::max)(y, s.M * s.N);
    }
    return {random_matrix<T>(1, x), random_matrix<T>(1, w), random_matrix<T>(1, y), Matrix<llm::compute_t<T>>::zeros({1, w})};
  }
};

/// f(operands) with random matrices of a shape, timed.
template <class T, class F>
void add_product(const std::string& name, const ProductShape& s, const F& f) {
  bench::add(name, [s, f](State& state) {
    auto& operands = Operands<T>::instance();
    bench::time_calls(state, [&] { f(operands); });
    state.counters["FLOP/s"] = bench::rate(s.flops());
  });
}

template <class T>
void add_products(const char* type) {
  using llm::Cpu;
  for (const ProductShape& s : bench::product_shapes) {
    add_product<T>(bench::product_name(type, s, "forward"), s,
                   [s](Operands<T>& o) { Cpu::linear_forward<T>(o.x.data(), o.w.data(), nullptr, o.y.data(), s.M, s.N, s.K); });
    add_product<T>(bench::product_name(type, s, "dx"), s,
                   [s](Operands<T>& o) { Cpu::linear_backward_input<T>(o.y.data(), o.w.data(), o.x.data(), s.M, s.N, s.K, false); });
    add_product<T>(bench::product_name(type, s, "dw"), s,
                   [s](Operands<T>& o) { Cpu::linear_backward_weight<T>(o.y.data(), o.x.data(), o.dw.data(), s.M, s.N, s.K, false); });
  }
}

/// `rows` rows times a matrix too large for the caches, stored in `format`.
void add_few_rows(llm::DType format, std::int64_t rows) {
  constexpr std::int64_t K = 1536, N = 1 << 17;
  const std::int64_t bytes = llm::Cpu::stored_bytes(format, N, K);
  bench::add("few_rows/" + std::string(to_string(format)) + "/rows:" + std::to_string(rows), [=](State& state) {
    const auto x = random_matrix<float>(rows, K);
    auto y = Matrix<float>::empty({rows, N});
    const auto w = llm::Tensor<float, llm::Shape<llm::dyn>>::full({bytes / 4}, 0.5);  // any bytes are weights, in any layout
    bench::time_calls(state, [&] { llm::Cpu::linear_forward_stored<float>(x.data(), format, w.data(), nullptr, y.data(), rows, N, K); });
    state.counters["bytes/s"] = bench::rate(static_cast<double>(bytes));
  });
}

void add_all() {
  bench::add_limits();
  add_products<float>("f32");
  add_products<llm::bf16>("bf16");
  using enum llm::DType;
  for (const llm::DType format : {f32, bf16, f16, q8_0, q4_0, q4_1, q4_k, q6_k})
    for (const std::int64_t rows : {1, 2, 4, 8}) add_few_rows(format, rows);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
