// The products of bench/products.cpp in oneDNN: f32 and bf16, forward and both gradients, on matrices as they lie (row-major).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <dnnl.hpp>

#include <llm/tensor/tensor.hpp>

#include "../support/benchmark.hpp"
#include "../support/product_shapes.hpp"

namespace {

using dnnl::memory;

/// A rows x cols matrix in row-major memory, read transposed or not.
memory::desc matrix(std::int64_t rows, std::int64_t cols, memory::data_type type, bool transposed) {
  return transposed ? memory::desc({cols, rows}, type, memory::dims{1, cols}) : memory::desc({rows, cols}, type, memory::dims{cols, 1});
}

/// Memory with room for the operands of every product, in pages as big as ours, filled once, since that takes longer than a product.
void* operand(std::size_t index) {
  using Elements = llm::Tensor<llm::bf16, llm::Shape<llm::dyn>>;
  static Elements operands[3];
  if (operands[index].numel() == 0) {
    std::int64_t most = 0;
    for (const bench::ProductShape& s : bench::product_shapes) most = (std::max)({most, s.M * s.K, s.N * s.K, s.M * s.N});
    operands[index] = Elements::full({2 * most}, 1.0);  // as f32 two of them are 1.0 and a bit
  }
  return operands[index].data();
}

/// c = a b, timed.
void add_product(const std::string& name, double flops, const memory::desc& a, const memory::desc& b, const memory::desc& c) {
  bench::add(name, [=](bench::State& state) {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const dnnl::matmul product(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine));
    const memory x(a, engine, operand(0)), y(b, engine, operand(1)), z(c, engine, operand(2));
    bench::time_calls(state, [&] {
      product.execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, y}, {DNNL_ARG_DST, z}});
      stream.wait();
    });
    state.counters["FLOP/s"] = bench::rate(flops);
  });
}

void add_all() {
  bench::add_limits();
  for (const auto& [type_name, type] : {std::pair{"f32", memory::data_type::f32}, std::pair{"bf16", memory::data_type::bf16}})
    for (const bench::ProductShape& s : bench::product_shapes) {
      const auto of = [element = type](std::int64_t rows, std::int64_t cols, bool transposed = false) {
        return matrix(rows, cols, element, transposed);
      };
      add_product(bench::product_name(type_name, s, "forward"), s.flops(), of(s.M, s.K), of(s.N, s.K, true), of(s.M, s.N));
      add_product(bench::product_name(type_name, s, "dx"), s.flops(), of(s.M, s.N), of(s.N, s.K), of(s.M, s.K));
      add_product(bench::product_name(type_name, s, "dw"), s.flops(), of(s.M, s.N, true), of(s.M, s.K), of(s.N, s.K));
    }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
