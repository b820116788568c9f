// The CPU backend: threads, vector instructions chosen at run time, Eigen behind them.
#pragma once

#if defined(__CUDACC__)
#error "llm: the CPU backend is compiled by the host compiler; in a .cu file include <llm/model/llm.hpp> and the backend it uses"
#endif

#include <cstdint>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/attention.hpp>
#include <llm/backend/cpu/attention_backward.hpp>
#include <llm/backend/cpu/elementwise.hpp>
#include <llm/backend/cpu/instantiate.hpp>
#include <llm/backend/cpu/linear.hpp>
#include <llm/backend/cpu/mixture.hpp>
#include <llm/backend/cpu/optimizer.hpp>
#include <llm/backend/cpu/rows.hpp>
#include <llm/backend/cpu/threads.hpp>
#include <llm/backend/cpu/tokens.hpp>
#include <llm/backend/cpu/unpacked.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/tensor/host_memory.hpp>

namespace llm {

/// Runs models on the cores of this machine. Each member is the function of the same name in llm::cpu, and does what that of
/// llm::reference says; sums are added up in another order. Results do not depend on the number of threads.
struct Cpu {
  static constexpr const char* name = "cpu";
  using memory = HostMemory;

  // clang-format off
  template <class T> static constexpr auto fill = cpu::fill<T>;
  template <class T> static constexpr auto fill_normal = cpu::fill_normal<T>;
  template <class T> static constexpr auto copy = cpu::copy<T>;
  template <class To, class From> static constexpr auto convert = cpu::convert<To, From>;
  template <class T> static constexpr auto add = cpu::add<T>;
  template <class T, class X = T> static constexpr auto accumulate = cpu::accumulate<T, X>;
  template <class T> static constexpr auto scale = cpu::scale<T>;
  template <class T> static constexpr auto sum = cpu::sum<T>;
  template <class T> static constexpr auto sum_of_squares = cpu::sum_of_squares<T>;

  template <class T> static constexpr auto linear_forward = cpu::linear_forward<T>;
  template <class T> static constexpr auto linear_backward_input = cpu::linear_backward_input<T>;
  template <class T> static constexpr auto linear_backward_weight = cpu::linear_backward_weight<T>;
  template <class T> static constexpr auto linear_backward_bias = cpu::linear_backward_bias<T>;

  template <class T> static constexpr auto rms_norm_forward = cpu::rms_norm_forward<T>;
  template <class T> static constexpr auto rms_norm_backward = cpu::rms_norm_backward<T>;
  template <class T> static constexpr auto layer_norm_forward = cpu::layer_norm_forward<T>;
  template <class T> static constexpr auto layer_norm_backward = cpu::layer_norm_backward<T>;
  template <class T> static constexpr auto rope = cpu::rope<T>;

  template <class T> static constexpr auto activation_forward = cpu::activation_forward<T>;
  template <class T> static constexpr auto activation_backward = cpu::activation_backward<T>;
  template <class T> static constexpr auto gated_forward = cpu::gated_forward<T>;
  template <class T> static constexpr auto gated_backward = cpu::gated_backward<T>;
  template <class T> static constexpr auto softmax_forward = cpu::softmax_forward<T>;
  template <class T> static constexpr auto softmax_backward = cpu::softmax_backward<T>;

  template <class T, class KV = T> static constexpr auto attention_forward = cpu::attention_forward<T, KV>;
  template <class T> static constexpr auto attention_backward = cpu::attention_backward<T>;
  template <class T, class KV = T> static constexpr auto cache_append = cpu::cache_append<T, KV>;
  template <class T> static constexpr auto adamw = cpu::adamw<T>;

  template <class T> static constexpr auto route_forward = cpu::route_forward<T>;
  template <class T> static constexpr auto route_backward = cpu::route_backward<T>;
  template <class T> static constexpr auto router_statistics = cpu::router_statistics<T>;
  template <class C> static constexpr auto router_losses = reference::router_losses<C>;
  template <class T> static constexpr auto router_losses_backward = cpu::router_losses_backward<T>;
  template <class T> static constexpr auto gather_rows = cpu::gather_rows<T>;
  template <class T> static constexpr auto scale_rows = cpu::scale_rows<T>;
  template <class T> static constexpr auto row_dots = cpu::row_dots<T>;
  template <class T> static constexpr auto combine_rows = cpu::combine_rows<T>;
  static constexpr auto sort_choices = reference::sort_choices;
  // clang-format on

  static std::int64_t stored_bytes(DType format, std::int64_t N, std::int64_t K) { return cpu::packed_bytes(format, N, K); }
  template <class Bytes>
  static void store_rows(DType format, const Bytes* rows, void* to, std::int64_t N, std::int64_t K) {
    cpu::store_rows(format, rows, static_cast<std::byte*>(to), N, K);
  }
  template <class Bytes>
  static void restore_rows(DType format, const void* kept, std::int64_t first, std::int64_t count, std::int64_t K, Bytes* rows) {
    cpu::unpack_rows(format, static_cast<const std::byte*>(kept), first, count, K, rows);
  }
  // A template of its own, so that programs without stored weights do not compile the decoding of their formats.
  template <class T>
  static void linear_forward_stored(const T* x, DType format, const void* w, const T* bias, T* y, std::int64_t M, std::int64_t N,
                                    std::int64_t K) {
    cpu::linear_forward_stored(x, format, w, bias, y, M, N, K);
  }
  template <class T>
  static void linear_forward_stored(const T* x, const StoredProduct<T>* products, std::int64_t count, std::int64_t M, std::int64_t K) {
    cpu::linear_forward_stored(x, products, count, M, K);
  }

  // The type of the indices comes from the arguments. Checks of indices are one pass over a few integers.
  template <class T, class Index>
  static void embedding_forward(const Index* ids, const T* table, T* y, std::int64_t n, std::int64_t D) {
    cpu::embedding_forward<T>(ids, table, y, n, D);
  }
  template <class T, class Index>
  static void embedding_forward_stored(const Index* ids, DType format, const void* table, T* y, std::int64_t n, std::int64_t D) {
    cpu::embedding_forward_stored<T>(ids, format, table, y, n, D);
  }
  template <class T, class Index>
  static void embedding_backward(const Index* ids, const T* dy, compute_t<T>* dtable, std::int64_t n, std::int64_t V, std::int64_t D) {
    cpu::embedding_backward<T>(ids, dy, dtable, n, V, D);
  }
  template <class Index>
  static std::int64_t index_outside(const Index* ids, std::int64_t n, std::int64_t V) {
    return reference::index_outside(ids, n, V);
  }
  template <class Index>
  static std::int64_t count_targets(const Index* targets, std::int64_t n, std::int64_t V, std::int64_t ignore) {
    return reference::count_targets(targets, n, V, ignore);
  }
  template <class T, class Index>
  static void cross_entropy_forward(const T* logits, const Index* targets, compute_t<T>* losses, compute_t<T>* lse, std::int64_t rows,
                                    std::int64_t V, std::int64_t ignore) {
    cpu::cross_entropy_forward<T>(logits, targets, losses, lse, rows, V, ignore);
  }
  template <class T, class Index>
  static void cross_entropy_backward(const T* logits, const Index* targets, const compute_t<T>* lse, double factor, T* dlogits,
                                     std::int64_t rows, std::int64_t V, std::int64_t ignore) {
    cpu::cross_entropy_backward<T>(logits, targets, lse, factor, dlogits, rows, V, ignore);
  }
};

static_assert(backend_for<Cpu, float> && backend_for<Cpu, double> && backend_for<Cpu, bf16>);

}  // namespace llm
