// Grouped-query attention, over keys of the same pass or over a KV cache.
#pragma once

#include <cmath>

#include <llm/autograd/gradient.hpp>
#include <llm/backend/concept.hpp>
#include <llm/ops/check.hpp>
#include <llm/ops/documents.hpp>

namespace llm {

struct AttentionOptions {
  bool causal = true;
  std::int64_t window = 0;   // W > 0: position p sees p - W + 1 .. p
  double scale = 0.0;        // 0: 1 / sqrt(E)
  Documents documents = {};  // a query sees keys of its own document alone
};

/// Keys and values where they lie, [B, S, K, E] with any strides (a cache's layer), in elements of KV.
template <class KV>
struct KvView {
  const KV* k = nullptr;
  const KV* v = nullptr;
  std::int64_t S = 0;                     // keys of each row, or the largest number of them
  const std::int64_t* lengths = nullptr;  // keys of row b, when rows differ
  std::int64_t batch_stride = 0, position_stride = 0, head_stride = 0;
};

namespace detail {

/// f(sizes, first row) for each document, which is a batch of its own; else for the whole.
template <class F>
void for_each_document(const AttentionArgs& whole, const Documents& documents, const F& f) {
  if (!documents) return f(whole, std::int64_t{0});
  for (std::int64_t i = 0; i < documents.count(); ++i) {
    AttentionArgs one = whole;
    one.B = 1;
    one.T = one.S = documents.start(i + 1) - documents.start(i);
    f(one, documents.start(i));
  }
}

template <class T, class Backend>
struct AttentionOp {
  AttentionArgs args;
  Documents documents;
  Saved<T> q, k, v, y;
  Saved<compute_t<T>> lse;
  Grad<T, Backend> d_q, d_k, d_v, d_y;

  void backward() {
    const auto dq = d_q.same(d_k) || d_q.same(d_v) ? d_q.write_summed() : d_q.write();
    const auto dk = d_k.write();
    const auto dv = d_v.write();
    const T* const dy = d_y.read();
    for_each_document(args, documents, [&](const AttentionArgs& a, std::int64_t first) {
      const std::int64_t at = first * a.H * a.E, key = first * a.K * a.E;
      Backend::template attention_backward<T>(a, q.data() + at, k.data() + key, v.data() + key, y.data() + at, dy + at,
                                              lse.data() + first * a.H, dq.data + at, dk.data + key, dv.data + key, dq.add, dk.add, dv.add);
    });
  }
};

inline double attention_scale(const AttentionOptions& options, std::int64_t e) {
  return options.scale != 0.0 ? options.scale : 1.0 / std::sqrt(static_cast<double>(e));
}

}  // namespace detail

/// Attention of q [B, T, H, E] over k and v [B, S, K, E] -> [B, T, H, E]; softmax in f32 (f64 for f64).
/// Query head h reads KV head h / (H / K), without copies. Query t stands at position S - T + t.
/// Requires equal E, and H a multiple of K (compile time where constant); causal attention needs T <= S (else llm::ShapeError).
/// With documents (T = S) each is attended to by itself, as a batch of its own.
/// Saves q, k, v, y and the log-sum-exp of each row: B * T * H numbers, never [T, S].
/// Source: arXiv:1706.03762 eq. 1; arXiv:2305.13245; online softmax arXiv:2205.14135.
template <class T, class SQ, class SK, class SV, class Backend>
Tensor<T, SQ, Backend> attention(const Tensor<T, SQ, Backend>& q, const Tensor<T, SK, Backend>& k, const Tensor<T, SV, Backend>& v,
                                 const AttentionOptions& options = {}) {
  static_assert(detail::has_rank<SQ::rank, 4>, "llm::attention(q [B, T, H, E], k [B, S, K, E], v [B, S, K, E]): q must have rank 4");
  static_assert(detail::has_rank<SK::rank, 4>, "llm::attention(q [B, T, H, E], k [B, S, K, E], v [B, S, K, E]): k must have rank 4");
  static_assert(detail::same_shape<SK, SV>,
                "llm::attention(q [B, T, H, E], k [B, S, K, E], v [B, S, K, E]): k and v must have the same shape");
  static_assert(detail::same_extent<detail::axis<SQ, 3>, detail::axis<SK, 3>>,
                "llm::attention(q [B, T, H, E], k [B, S, K, E], v [B, S, K, E]): the head width E of q must equal that of k");
  static_assert(detail::multiple_of<detail::axis<SQ, 2>, detail::axis<SK, 2>>,
                "llm::attention(q [B, T, H, E], k [B, S, K, E], v [B, S, K, E]): the query heads H must be a multiple of the KV heads K "
                "(are they swapped?)");
  constexpr const char* name = "llm::attention(q [B, T, H, E], k [B, S, K, E], v [B, S, K, E])";
  AttentionArgs args{.B = q.extent(0), .T = q.extent(1), .S = k.extent(1), .H = q.extent(2), .K = k.extent(2), .E = q.extent(3)};
  detail::require_equal(name, "B of q", args.B, "B of k", k.extent(0));
  for (int i = 0; i < 4; ++i) detail::require_equal(name, "an extent of k", k.extent(i), "that of v", v.extent(i));
  detail::require_equal(name, "E of q", args.E, "E of k", k.extent(3));
  if (args.K == 0 || args.H == 0 || args.H % args.K != 0)
    throw ShapeError(detail::concat(name, ": H ", args.H, " is no multiple of K ", args.K));
  detail::require_documents_of(options.documents, args.B, args.T);
  detail::require_documents_of(options.documents, args.B, args.S);
  if (options.causal && args.T > args.S) throw ShapeError(detail::concat(name, ": T ", args.T, " queries exceed S ", args.S, " keys"));
  args.kv_batch_stride = args.S * args.K * args.E;
  args.kv_position_stride = args.K * args.E;
  args.kv_head_stride = args.E;
  args.window = options.window;
  args.causal = options.causal;
  args.scale = detail::attention_scale(options, args.E);
  auto y = Tensor<T, SQ, Backend>::empty(q.shape());
  Tape* const tape = recording(q, k, v);
  Tensor<compute_t<T>, Shape<dyn>, Backend> lse;
  if (tape) lse = decltype(lse)::empty({args.B * args.T * args.H});
  detail::for_each_document(args, options.documents, [&](const AttentionArgs& a, std::int64_t first) {
    const std::int64_t at = first * a.H * a.E, key = first * a.K * a.E;
    Backend::template attention_forward<T, T>(a, q.data() + at, k.data() + key, v.data() + key, y.data() + at,
                                              tape ? lse.data() + first * a.H : nullptr);
  });
  if (tape) {
    const auto d_y = output_gradient(y);
    using G = Grad<T, Backend>;
    tape->record(y, detail::AttentionOp<T, Backend>{args, options.documents, Saved<T>(q), Saved<T>(k), Saved<T>(v), Saved<T>(y),
                                                    Saved<compute_t<T>>(lse), G(q), G(k), G(v), d_y});
  }
  return y;
}

/// Tensors of different element types or backends.
template <class TQ, class SQ, class BQ, class TK, class SK, class BK, class TV, class SV, class BV>
Tensor<TQ, SQ, BQ> attention(const Tensor<TQ, SQ, BQ>&, const Tensor<TK, SK, BK>&, const Tensor<TV, SV, BV>&,
                             const AttentionOptions& = {}) {
  static_assert(detail::alike<Tensor<TQ, SQ, BQ>, Tensor<TK, SK, BK>, Tensor<TV, SV, BV>>,
                "llm::attention(q [B, T, H, E], k [B, S, K, E], v [B, S, K, E]): all must have the same element type and backend");
  return {};
}

/// Attention of q [B, T, H, E] over the keys and values of a cache with KvHeads heads. Not recorded: a cache is for inference.
template <std::int64_t KvHeads, class T, class SQ, class KV, class Backend>
Tensor<T, SQ, Backend> attention(const Tensor<T, SQ, Backend>& q, const KvView<KV>& kv, const AttentionOptions& options = {}) {
  static_assert(
      detail::multiple_of<detail::axis<SQ, 2>, KvHeads>,
      "llm::attention(q [B, T, H, E], cache with K heads): the query heads H must be a multiple of the KV heads K (are they swapped?)");
  AttentionArgs args{.B = q.extent(0), .T = q.extent(1), .S = kv.S, .H = q.extent(2), .K = KvHeads, .E = q.extent(3)};
  args.kv_batch_stride = kv.batch_stride;
  args.kv_position_stride = kv.position_stride;
  args.kv_head_stride = kv.head_stride;
  args.kv_lengths = kv.lengths;
  args.window = options.window;
  args.causal = options.causal;
  args.scale = detail::attention_scale(options, args.E);
  auto y = Tensor<T, SQ, Backend>::empty(q.shape());
  Backend::template attention_forward<T, KV>(args, q.data(), kv.k, kv.v, y.data(), nullptr);
  return y;
}

}  // namespace llm
