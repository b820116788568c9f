// Products and embeddings of odd sizes: every backend against the reference in double.
#include <support/kernel.hpp>
#include <support/stored_rows.hpp>

using namespace llm_test;
using llm::Reference;

namespace {
constexpr std::int64_t sizes[] = {0, 1, 3, 7, 17, 33, 65, 129};

template <class B, class T>
void check_linear(std::int64_t M, std::int64_t N, std::int64_t K) {
  INFO("M " << M << ", N " << N << ", K " << K);
  Input<B, T> x(M * K, 1), w(N * K, 2), bias(N, 3), dy(M * N, 4);
  const double tolerance = kernel_tolerance<T> * std::sqrt(1.0 + static_cast<double>(K + M + N) / 20);
  Buffer<B, T> y(M * N);
  std::vector<double> expected(static_cast<std::size_t>(M * N));
  for (const bool biased : {false, true}) {
    B::template linear_forward<T>(x, w, biased ? static_cast<T*>(bias) : nullptr, y, M, N, K);
    Reference::linear_forward<double>(x.wide.data(), w.wide.data(), biased ? bias.wide.data() : nullptr, expected.data(), M, N, K);
    check_close(biased ? "y with bias" : "y", y.host(), expected, tolerance);
  }
  Gradient dx{"dx", std::vector<double>(x.wide.size())}, dw{"dw", std::vector<double>(w.wide.size())},
      db{"db", std::vector<double>(bias.wide.size())};
  Reference::linear_backward_input<double>(dy.wide.data(), w.wide.data(), dx.expected.data(), M, N, K, false);
  Reference::linear_backward_weight<double>(dy.wide.data(), x.wide.data(), dw.expected.data(), M, N, K, false);
  Reference::linear_backward_bias<double>(dy.wide.data(), db.expected.data(), M, N, false);
  check_gradients<B, T>({dx}, tolerance,
                        [&](auto& out, auto& add) { B::template linear_backward_input<T>(dy, w, out[0], M, N, K, add[0]); });
  check_gradients<B, T>({dw}, tolerance,
                        [&](auto& out, auto& add) { B::template linear_backward_weight<T>(dy, x, out[0], M, N, K, add[0]); });
  check_gradients<B, T>({db}, tolerance, [&](auto& out, auto& add) { B::template linear_backward_bias<T>(dy, out[0], M, N, add[0]); });
}

template <class B, class T>
void check_stored(llm::DType format, std::int64_t M, std::int64_t N, std::int64_t K) {
  INFO(std::string(llm::to_string(format)) << ": M " << M << ", N " << N << ", K " << K);
  Input<B, T> x(M * K, 1), bias(N, 3);
  const auto rows = random_rows(format, N, K, 5);
  Buffer<B, std::byte> packed(B::stored_bytes(format, N, K));
  B::store_rows(format, rows.data(), static_cast<std::byte*>(packed), N, K);
  Buffer<B, T> y(M * N);
  std::vector<double> expected(static_cast<std::size_t>(M * N));
  for (const bool biased : {false, true}) {
    B::template linear_forward_stored<T>(x, format, static_cast<std::byte*>(packed), biased ? static_cast<T*>(bias) : nullptr, y, M, N, K);
    Reference::linear_forward_stored<double>(x.wide.data(), format, rows.data(), biased ? bias.wide.data() : nullptr, expected.data(), M, N,
                                             K);
    check_close(biased ? "y with bias" : "y", y.host(), expected, kernel_tolerance<T> * 3);
  }
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("products of every mix of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  for (const std::int64_t M : sizes)
    for (const std::int64_t N : sizes)
      for (const std::int64_t K : sizes) check_linear<typename TestType::Backend, typename TestType::Scalar>(M, N, K);
}

TEMPLATE_LIST_TEST_CASE("products with stored weights of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  exact_activations(true);
  for (const std::int64_t M : {0, 1, 2, 5, 17})
    for (const std::int64_t N : {0, 1, 7, 33})
      for (const std::int64_t K : {0, 1, 3, 5})
        for_each_format([&](llm::DType format, std::int64_t unit) {
          check_stored<typename TestType::Backend, typename TestType::Scalar>(format, M, N, K * unit);
        });
  exact_activations(false);
}

TEMPLATE_LIST_TEST_CASE("embeddings of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const std::int64_t n : sizes)
    for (const std::int64_t D : sizes) {
      const std::int64_t V = 33;
      INFO("n " << n << ", D " << D);
      std::vector<std::int64_t> ids;
      llm::Rng rng(static_cast<std::uint64_t>(n));
      for (std::int64_t i = 0; i < n; ++i) ids.push_back(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(V))));
      Input<B, T> table(V * D, 1), dy(n * D, 2);
      Input<B, compute_t<T>> start(V * D, 3);
      Buffer<B, std::int64_t> id_buffer(ids);
      Buffer<B, T> y(n * D);
      std::vector<double> expected(static_cast<std::size_t>(n * D)), d_table = start.wide;
      B::template embedding_forward<T>(static_cast<std::int64_t*>(id_buffer), static_cast<T*>(table), static_cast<T*>(y), n, D);
      Reference::embedding_forward<double>(ids.data(), table.wide.data(), expected.data(), n, D);
      check_close("y", y.host(), expected, 0);
      B::template embedding_backward<T>(static_cast<std::int64_t*>(id_buffer), static_cast<T*>(dy), static_cast<compute_t<T>*>(start), n, V,
                                        D);
      Reference::embedding_backward<double>(ids.data(), dy.wide.data(), d_table.data(), n, V, D);
      check_close("dtable", start.buffer.host(), d_table, kernel_tolerance<compute_t<T>> * 3);
    }
}
