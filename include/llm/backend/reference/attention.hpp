// Grouped-query attention query by query, its gradient, and appending to a KV cache. Sources: arXiv:1706.03762, arXiv:2305.13245.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <llm/backend/concept.hpp>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::reference {

/// The keys [begin, end) that one query sees; empty when begin >= end.
struct VisibleKeys {
  std::int64_t begin, end;
};

inline VisibleKeys visible_keys(const AttentionArgs& a, std::int64_t b, std::int64_t t) {
  const std::int64_t keys = a.kv_lengths == nullptr ? a.S : a.kv_lengths[b];
  const std::int64_t position = keys - a.T + t;
  return {a.window > 0 ? (std::max)(std::int64_t{0}, position - a.window + 1) : 0, a.causal ? (std::min)(keys, position + 1) : keys};
}

/// The number of query (b, t, h); where its vector begins in q and y, and where that of key s begins in k and v, for the KV head that h
/// reads.
inline std::int64_t query_row(const AttentionArgs& a, std::int64_t b, std::int64_t t, std::int64_t h) { return (b * a.T + t) * a.H + h; }
inline std::int64_t query_offset(const AttentionArgs& a, std::int64_t b, std::int64_t t, std::int64_t h) {
  return query_row(a, b, t, h) * a.E;
}
inline std::int64_t key_offset(const AttentionArgs& a, std::int64_t b, std::int64_t s, std::int64_t h) {
  return b * a.kv_batch_stride + s * a.kv_position_stride + h / (a.H / a.K) * a.kv_head_stride;
}

template <class C, class A, class B>
C dot(const A* a, const B* b, std::int64_t n) {
  C total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += C(a[i]) * C(b[i]);
  return total;
}

/// row += factor * x
template <class C, class X>
void add_scaled(std::vector<C>& row, C factor, const X* x) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] += factor * C(x[i]);
}

template <class T, class C>
void store_row(T* y, const std::vector<C>& row, bool add) {
  for (std::size_t i = 0; i < row.size(); ++i) store(y[i], row[i], add);
}

/// Calls f(b, t, h) for every query.
template <class F>
void for_each_query(const AttentionArgs& a, F f) {
  for (std::int64_t b = 0; b < a.B; ++b)
    for (std::int64_t t = 0; t < a.T; ++t)
      for (std::int64_t h = 0; h < a.H; ++h) f(b, t, h);
}

/// Calls f(b, s, KV head, query heads that read it) for every key.
template <class F>
void for_each_key(const AttentionArgs& a, F f) {
  for (std::int64_t b = 0; b < a.B; ++b)
    for (std::int64_t s = 0; s < a.S; ++s)
      for (std::int64_t kv_head = 0; kv_head < a.K; ++kv_head) f(b, s, kv_head, a.H / a.K);
}

/// y[b,t,h] = sum over visible s of softmax(scale q.k[s]) v[s]; lse[b,t,h] = log sum exp of the scaled scores, may be null.
/// A query that sees no key gives y = 0 and lse = -inf. A key whose score is -inf weighs nothing; where all scores of a query are -inf,
/// its y and lse are NaN, as in PyTorch. Softmax is in compute_t<T> whatever KV is.
template <class T, class KV>
void attention_forward(const AttentionArgs& a, const T* q, const KV* k, const KV* v, T* y, compute_t<T>* lse) {
  using C = compute_t<T>;
  std::vector<C> row(static_cast<std::size_t>(a.E));
  for_each_query(a, [&](std::int64_t b, std::int64_t t, std::int64_t h) {
    const VisibleKeys visible = visible_keys(a, b, t);
    const std::int64_t query = query_offset(a, b, t, h);
    const auto score = [&](std::int64_t s) { return C(a.scale) * dot<C>(q + query, k + key_offset(a, b, s, h), a.E); };
    C largest = -std::numeric_limits<C>::infinity(), total = 0;
    for (std::int64_t s = visible.begin; s < visible.end; ++s) largest = (std::max)(largest, score(s));
    row.assign(row.size(), C(0));
    for (std::int64_t s = visible.begin; s < visible.end; ++s) {
      const C weight = std::exp(score(s) - largest);
      total += weight;
      add_scaled(row, weight, v + key_offset(a, b, s, h));
    }
    for (std::int64_t e = 0; e < a.E; ++e) y[query + e] = T(total == C(0) ? C(0) : row[static_cast<std::size_t>(e)] / total);
    if (lse != nullptr) lse[query_row(a, b, t, h)] = largest + std::log(total);
  });
}

/// Of one query and one visible key: the softmax weight p, and the gradient of q.k.
template <class C>
struct Weight {
  C p, ds;
};

template <class T>
Weight<compute_t<T>> attention_weight(const AttentionArgs& a, const T* q, const T* k, const T* v, const T* y, const T* dy,
                                      compute_t<T> lse) {
  using C = compute_t<T>;
  const C p = std::exp(C(a.scale) * dot<C>(q, k, a.E) - lse);
  return {p, p * (dot<C>(dy, v, a.E) - dot<C>(dy, y, a.E)) * C(a.scale)};
}

/// Gradients of attention_forward: dq like q; dk and dv addressed like k and v, every one of the S positions of a row is written.
/// With p = exp(scale q.k - lse) and ds = p (dy.v - dy.y) scale: dq = sum ds k, dk = sum ds q, dv = sum p dy.
template <class T>
void attention_backward(const AttentionArgs& a, const T* q, const T* k, const T* v, const T* y, const T* dy, const compute_t<T>* lse, T* dq,
                        T* dk, T* dv, bool add_dq, bool add_dk, bool add_dv) {
  using C = compute_t<T>;
  const auto weight = [&](std::int64_t query, std::int64_t key, std::int64_t row) {
    return attention_weight(a, q + query, k + key, v + key, y + query, dy + query, lse[row]);
  };
  std::vector<C> first(static_cast<std::size_t>(a.E)), second(first.size());
  for_each_query(a, [&](std::int64_t b, std::int64_t t, std::int64_t h) {
    const VisibleKeys visible = visible_keys(a, b, t);
    const std::int64_t query = query_offset(a, b, t, h);
    first.assign(first.size(), C(0));
    for (std::int64_t s = visible.begin; s < visible.end; ++s) {
      const std::int64_t key = key_offset(a, b, s, h);
      add_scaled(first, weight(query, key, query_row(a, b, t, h)).ds, k + key);
    }
    store_row(dq + query, first, add_dq);
  });
  for_each_key(a, [&](std::int64_t b, std::int64_t s, std::int64_t kv_head, std::int64_t group) {
    const std::int64_t key = key_offset(a, b, s, kv_head * group);
    first.assign(first.size(), C(0));
    second.assign(second.size(), C(0));
    for (std::int64_t t = 0; t < a.T; ++t) {
      const VisibleKeys visible = visible_keys(a, b, t);
      if (s < visible.begin || s >= visible.end) continue;
      for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
        const std::int64_t query = query_offset(a, b, t, h);
        const Weight<C> w = weight(query, key, query_row(a, b, t, h));
        add_scaled(first, w.ds, q + query);
        add_scaled(second, w.p, dy + query);
      }
    }
    store_row(dk + key, first, add_dk);
    store_row(dv + key, second, add_dv);
  });
}

/// Copies rows [B, T, width] into a cache of type KV: row (b, t) goes to b * batch_stride + (starts[b] + t) * width; null starts are 0.
template <class T, class KV>
void cache_append(const T* rows, KV* cache, std::int64_t B, std::int64_t T_new, std::int64_t width, std::int64_t batch_stride,
                  const std::int64_t* starts) {
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T_new; ++t) {
      KV* to = cache + b * batch_stride + ((starts == nullptr ? 0 : starts[b]) + t) * width;
      for (std::int64_t i = 0; i < width; ++i) to[i] = KV(compute_t<T>(rows[(b * T_new + t) * width + i]));
    }
}

}  // namespace llm::reference
