// The reference backend: plain loops for any scalar type, the specification of every kernel and the oracle of the other backends.
#pragma once

#include <cstdint>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/reference/activation.hpp>
#include <llm/backend/reference/attention.hpp>
#include <llm/backend/reference/cross_entropy.hpp>
#include <llm/backend/reference/elementwise.hpp>
#include <llm/backend/reference/embedding.hpp>
#include <llm/backend/reference/layer_norm.hpp>
#include <llm/backend/reference/linear.hpp>
#include <llm/backend/reference/mixture.hpp>
#include <llm/backend/reference/optimizer.hpp>
#include <llm/backend/reference/rms_norm.hpp>
#include <llm/backend/reference/rope.hpp>
#include <llm/backend/reference/softmax.hpp>
#include <llm/tensor/host_memory.hpp>

namespace llm {

/// Runs any model, slowly, on one thread. Each member is the function of the same name in llm::reference, for element type T.
struct Reference {
  static constexpr const char* name = "reference";
  using memory = HostMemory;

  // clang-format off
  template <class T> static constexpr auto fill = reference::fill<T>;
  template <class T> static constexpr auto fill_normal = reference::fill_normal<T>;
  template <class T> static constexpr auto copy = reference::copy<T>;
  template <class To, class From> static constexpr auto convert = reference::convert<To, From>;
  template <class T> static constexpr auto add = reference::add<T>;
  template <class T, class X = T> static constexpr auto accumulate = reference::accumulate<T, X>;
  template <class T> static constexpr auto scale = reference::scale<T>;
  template <class T> static constexpr auto sum = reference::sum<T>;
  template <class T> static constexpr auto sum_of_squares = reference::sum_of_squares<T>;

  template <class T> static constexpr auto linear_forward = reference::linear_forward<T>;
  template <class T> static constexpr auto linear_backward_input = reference::linear_backward_input<T>;
  template <class T> static constexpr auto linear_backward_weight = reference::linear_backward_weight<T>;
  template <class T> static constexpr auto linear_backward_bias = reference::linear_backward_bias<T>;

  template <class T> static constexpr auto rms_norm_forward = reference::rms_norm_forward<T>;
  template <class T> static constexpr auto rms_norm_backward = reference::rms_norm_backward<T>;
  template <class T> static constexpr auto layer_norm_forward = reference::layer_norm_forward<T>;
  template <class T> static constexpr auto layer_norm_backward = reference::layer_norm_backward<T>;
  template <class T> static constexpr auto rope = reference::rope<T>;

  template <class T> static constexpr auto activation_forward = reference::activation_forward<T>;
  template <class T> static constexpr auto activation_backward = reference::activation_backward<T>;
  template <class T> static constexpr auto gated_forward = reference::gated_forward<T>;
  template <class T> static constexpr auto gated_backward = reference::gated_backward<T>;
  template <class T> static constexpr auto softmax_forward = reference::softmax_forward<T>;
  template <class T> static constexpr auto softmax_backward = reference::softmax_backward<T>;

  template <class T, class KV = T> static constexpr auto attention_forward = reference::attention_forward<T, KV>;
  template <class T> static constexpr auto attention_backward = reference::attention_backward<T>;
  template <class T, class KV = T> static constexpr auto cache_append = reference::cache_append<T, KV>;

  template <class T> static constexpr auto route_forward = reference::route_forward<T>;
  template <class T> static constexpr auto route_backward = reference::route_backward<T>;
  template <class T> static constexpr auto router_statistics = reference::router_statistics<T>;
  template <class C> static constexpr auto router_losses = reference::router_losses<C>;
  template <class T> static constexpr auto router_losses_backward = reference::router_losses_backward<T>;
  template <class T> static constexpr auto gather_rows = reference::gather_rows<T>;
  template <class T> static constexpr auto scale_rows = reference::scale_rows<T>;
  template <class T> static constexpr auto row_dots = reference::row_dots<T>;
  template <class T> static constexpr auto combine_rows = reference::combine_rows<T>;
  static constexpr auto sort_choices = reference::sort_choices;
  // clang-format on

  // The type of the indices comes from the arguments.
  template <class T, class Index>
  static void embedding_forward(const Index* ids, const T* table, T* y, std::int64_t n, std::int64_t D) {
    reference::embedding_forward<T>(ids, table, y, n, D);
  }
  template <class T, class Index>
  static void embedding_forward_stored(const Index* ids, DType format, const void* table, T* y, std::int64_t n, std::int64_t D) {
    reference::embedding_forward_stored<T>(ids, format, table, y, n, D);
  }
  template <class T, class Index>
  static void embedding_backward(const Index* ids, const T* dy, compute_t<T>* dtable, std::int64_t n, std::int64_t V, std::int64_t D) {
    reference::embedding_backward<T>(ids, dy, dtable, n, V, D);
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
    reference::cross_entropy_forward<T>(logits, targets, losses, lse, rows, V, ignore);
  }
  template <class T, class Index>
  static void cross_entropy_backward(const T* logits, const Index* targets, const compute_t<T>* lse, double factor, T* dlogits,
                                     std::int64_t rows, std::int64_t V, std::int64_t ignore) {
    reference::cross_entropy_backward<T>(logits, targets, lse, factor, dlogits, rows, V, ignore);
  }
  static std::int64_t stored_bytes(DType format, std::int64_t N, std::int64_t K) { return N * storage_bytes(format, K); }
  static void store_rows(DType format, const std::byte* rows, void* to, std::int64_t N, std::int64_t K) {
    memory::copy_from_host(to, rows, static_cast<std::size_t>(stored_bytes(format, N, K)));
  }
  static void restore_rows(DType format, const void* kept, std::int64_t first, std::int64_t count, std::int64_t K, std::byte* rows) {
    memory::copy_to_host(rows, static_cast<const std::byte*>(kept) + stored_bytes(format, first, K),
                         static_cast<std::size_t>(stored_bytes(format, count, K)));
  }
  // A template of its own, so that programs without stored weights do not compile the decoding of their formats.
  template <class T>
  static void linear_forward_stored(const T* x, DType format, const void* w, const T* bias, T* y, std::int64_t M, std::int64_t N,
                                    std::int64_t K) {
    reference::linear_forward_stored(x, format, w, bias, y, M, N, K);
  }
  template <class T>
  static void linear_forward_stored(const T* x, const StoredProduct<T>* products, std::int64_t count, std::int64_t M, std::int64_t K) {
    for (const StoredProduct<T>* p = products; p != products + count; ++p)
      reference::linear_forward_stored(x, p->format, p->w, p->bias, p->y, M, p->N, K);
  }
  template <class T>
  static void adamw(const AdamWArgs& args, const AdamWPart<T>* parts, std::int64_t count) {
    reference::adamw<T>(args, parts, count);
  }
};

static_assert(backend_for<Reference, float> && backend_for<Reference, double> && backend_for<Reference, bf16>);

}  // namespace llm
