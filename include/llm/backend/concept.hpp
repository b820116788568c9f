// What a backend is: memory and a list of kernels on pointers and run-time sizes.
//
// Letters: M rows of a product, N outputs, K inputs; B batch, T query time, S key time, H query heads, K KV heads, E head width,
// V vocabulary. All matrices are row-major and dense unless strides are named; all sizes are 64-bit.
// `compute` is compute_t<T>: double for double, float for float and bf16. Kernels read T, compute in `compute`, write T; gradients of
// parameters (dw, db, dgain, dbias, dtable) are sums over many rows and batches and are written in `compute`.
// A gradient output d_x comes with `bool add`: true adds to what is there, false overwrites (the memory may be uninitialised). Two gradient
// outputs of one call may be the same memory (an op on x and x): both sums must arrive there.
// Kernels do not check their arguments; ops do. A null pointer is allowed only where said. Empty sizes are allowed everywhere.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <llm/core/dtype.hpp>
#include <llm/core/rounding.hpp>

namespace llm {

enum class Activation : std::uint8_t { silu, gelu_tanh, gelu_erf };

/// Sizes of one attention call. q and y are [B, T, H, E] dense. k and v are addressed by strides, in elements, so that a KV cache
/// is read in place: element (b, s, head, e) is at b * kv_batch_stride + s * kv_position_stride + head * kv_head_stride + e.
/// Row b has S keys, or kv_lengths[b] when that is not null; its query t stands at position (keys of b) - T + t.
/// With `causal` a query sees positions up to its own; with window W > 0 it sees only positions above its own - W.
/// Query head h reads KV head h / (H / K). Scores are scaled by `scale`.
/// Backends may multiply a key that a query does not see by 0, when it lies within the row's S or kv_lengths[b]: if it is not finite, NaN.
struct AttentionArgs {
  std::int64_t B = 0, T = 0, S = 0, H = 0, K = 0, E = 0;
  std::int64_t kv_batch_stride = 0, kv_position_stride = 0, kv_head_stride = 0;
  const std::int64_t* kv_lengths = nullptr;
  std::int64_t window = 0;
  bool causal = true;
  double scale = 1.0;
};

/// Sizes of one rotary embedding call: x and y are [B, T, heads, E] dense and may be the same memory; the first `width` elements of a head
/// are rotated, the rest copied. Row b, time t stands at position starts[b] + t, or start + t when starts is null. cos and sin are
/// [positions, width / 2] f32. inverse turns the other way, which is the backward pass.
struct RopeArgs {
  std::int64_t B = 0, T = 0, heads = 0, E = 0, width = 0;
  const float* cos = nullptr;
  const float* sin = nullptr;
  const std::int64_t* starts = nullptr;
  std::int64_t start = 0;
  bool interleaved = false;
  bool inverse = false;
};

/// How a router chooses `active` of its `experts` for each of `rows` tokens, from logits [rows, experts] and, for the choice alone, a bias
/// of each expert. A score is the softmax of a row or the sigmoid of a logit; the experts with the highest score + bias are chosen, of
/// equal ones the first. With several groups of experts, one behind the other, only those of the best active_groups are chosen from: the
/// rank of a group is its best expert's, with a bias the sum of its two best's. The weights of the chosen are their scores, to a sum of 1
/// when `normalise`, times `scale`. Sources: arXiv:2401.04088 (Mixtral), 2405.04434 and 2412.19437 (groups and bias of DeepSeek).
struct RouteArgs {
  static constexpr std::int64_t most_active_groups = 64;

  std::int64_t rows = 0, experts = 0, active = 0;
  std::int64_t groups = 1, active_groups = 1;
  bool sigmoid = false;
  bool normalise = true;
  double scale = 1.0;
};

/// The losses that keep experts in balance, over all `routers` of a pass, each of which saw `rows` rows: the auxiliary one is experts
/// times the sum over the experts of (the mean number of a row's choices that fall on it) * (its mean share, where a row's scores are
/// scaled to a sum of 1), the means over all rows of all routers; the z-loss the mean of (log sum exp(logits))^2. `aux` and `z` are their
/// coefficients. What router_losses writes are experts + 5 numbers in `compute`, named here; `gradient`, that of the loss which `total` was
/// added to, is the caller's to write before router_losses_backward, and 0 until then.
/// Sources: arXiv:2101.03961 eq. 4 (Switch) with several choices and routers as transformers takes them, 2202.08906 eq. 5 (ST-MoE).
struct RouterLossArgs {
  enum Losses : std::int8_t {
    total,
    aux_loss,
    z_loss,
    gradient,
    z_slope,
    slopes
  };  // total = aux * aux_loss + z * z_loss; slopes [experts]

  std::int64_t routers = 0, rows = 0, experts = 0;
  double aux = 0, z = 0;
};

/// One AdamW step: decoupled weight decay. Source: arXiv:1711.05101, as torch.optim.AdamW computes it.
/// correction1 = 1 - beta1^step, correction2 = 1 - beta2^step with step counted from 1; gradients are multiplied by grad_scale first.
struct AdamWArgs {
  double lr = 0, beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double correction1 = 1, correction2 = 1, grad_scale = 1;
};

/// One parameter in an AdamW step: its n elements, their master copy (null: they are the master themselves), gradient and moments.
template <class T>
struct AdamWPart {
  T* param = nullptr;
  compute_t<T>* master = nullptr;
  const compute_t<T>* grad = nullptr;
  compute_t<T>* m = nullptr;
  compute_t<T>* v = nullptr;
  std::int64_t n = 0;
  double weight_decay = 0;
};

/// n elements in a row.
template <class T>
struct Elements {
  const T* data = nullptr;
  std::int64_t n = 0;
};

/// One of several products of the same rows x[M,K]: y[M,N] = x w[N,K]^T + bias[N], w as the backend keeps weights of that format.
template <class T>
struct StoredProduct {
  DType format = DType::f32;
  const void* w = nullptr;
  const T* bias = nullptr;  // may be null
  T* y = nullptr;
  std::int64_t N = 0;
};

/// Where tensors of a backend live. allocate returns 64-byte aligned memory or throws; release gives it back.
template <class M>
concept memory_space = requires(void* p, const void* from, std::size_t bytes) {
  { M::allocate(bytes) } -> std::same_as<void*>;
  { M::release(p, bytes) }
  noexcept;
  {M::copy_to_host(p, from, bytes)};
  {M::copy_from_host(p, from, bytes)};
};

// clang-format off

/// The kernels, for element type T. backend/reference/ has the specification of each, one loop a page.
template <class B, class T>
concept backend_for = memory_space<typename B::memory> && requires(
    T* y, const T* x, compute_t<T>* stat, const compute_t<T>* cstat, const std::int32_t* ids, std::int64_t n, bool add, double s,
    std::int32_t* index, const void* packed, const StoredProduct<T>* products, const std::byte* rows, std::byte* restored, void* kept, const AttentionArgs& attention, const RopeArgs& rope, const RouteArgs& route,
    const RouterLossArgs& balance, const AdamWArgs& adamw, const AdamWPart<T>* parts,
    const Elements<T>* arrays) {
  // elementwise on n elements
  { B::template fill<T>(y, n, s) };
  { B::template copy<T>(y, x, n) };
  { B::template add<T>(x, x, y, n) };                       // y = a + b; y may be either
  { B::template convert<compute_t<T>, T>(stat, x, n) };     // y[i] = To(x[i]), rounding once
  { B::template convert<T, compute_t<T>>(y, cstat, n) };
  { B::template accumulate<T>(y, x, n) };                   // y += x
  { B::template accumulate<compute_t<T>, T>(stat, x, n) };  // the same with x of another type; rounds once
  { B::template accumulate<T, compute_t<T>>(y, cstat, n) };
  { B::template scale<T>(y, n, s) };                        // y *= s
  { B::template sum<T>(x, n) } -> std::same_as<double>;
  { B::template sum_of_squares<T>(arrays, n) } -> std::same_as<double>;   // of all elements of n arrays
  // y[M,N] = x[M,K] w[N,K]^T + bias[N] (bias may be null), and its gradients
  { B::template linear_forward<T>(x, x, x, y, n, n, n) };
  { B::template linear_backward_input<T>(x, x, y, n, n, n, add) };    // dx[M,K] from dy[M,N], w[N,K]
  { B::template linear_backward_weight<T>(x, x, stat, n, n, n, add) };   // dw[N,K] from dy[M,N], x[M,K]
  { B::template linear_backward_bias<T>(x, stat, n, n, add) };           // db[N] from dy[M,N]
  // weights in any format, rows of K elements (whole blocks), as a backend keeps them: how many bytes that takes, and how it gets there
  { B::stored_bytes(DType::q8_0, n, n) } -> std::same_as<std::int64_t>;   // format, N, K
  { B::store_rows(DType::q8_0, rows, kept, n, n) };                       // format, rows of a file in memory of the host, to, N, K
  { B::restore_rows(DType::q8_0, packed, n, n, n, restored) };            // and back: format, kept, first row, count, K, the same bytes
  // linear_forward with such weights
  { B::template linear_forward_stored<T>(x, DType::q8_0, packed, x, y, n, n, n) };
  { B::template linear_forward_stored<T>(x, products, n, n, n) };   // x, n products, M, K: each has the bits of the product alone
  // rows of a table [V, D] by id; backward always adds into dtable. index_outside: position of the first id not in [0, V), or -1
  { B::template embedding_forward<T>(ids, x, y, n, n) };              // n ids, D
  { B::template embedding_forward_stored<float>(ids, DType::q8_0, packed, (float*)nullptr, n, n) };   // ids, format, table, y, n ids, D
  { B::template embedding_backward<T>(ids, x, stat, n, n, n) };       // n ids, V, D
  { B::index_outside(ids, n, n) } -> std::same_as<std::int64_t>;
  // targets of a loss: how many of n are not `ignore`; when one is neither in [0, V) nor `ignore`, -1 - (its position)
  { B::count_targets(ids, n, n, n) } -> std::same_as<std::int64_t>;   // targets, n, V, ignore
  // y[i] = stddev * normal_at(seed, stream, i) (core/rng.hpp), the same for any split over threads
  { B::template fill_normal<T>(y, n, std::uint64_t{}, std::uint64_t{}, s) };   // y, n, seed, stream, stddev
  // norms over rows [rows, cols]; the saved statistics are in `compute`
  { B::template rms_norm_forward<T>(x, x, y, stat, n, n, s, Rounding::round_then_gain) };   // x, gain, y, inv_rms (may be null)
  { B::template rms_norm_backward<T>(x, x, x, cstat, y, stat, n, n, add, add) };            // dy, x, gain, inv_rms, dx, dgain
  { B::template layer_norm_forward<T>(x, x, x, y, stat, stat, n, n, s) };                   // x, gain, bias, y, mean, inv_std (may be null)
  { B::template layer_norm_backward<T>(x, x, x, cstat, cstat, y, stat, stat, n, n, add, add) };   // dy, x, gain, mean, inv_std, dx, dgain, dbias
  // in both backward kernels dx may be dy
  { B::template rope<T>(rope, x, y, add) };
  // activations on n elements; dx may be x, dgate gate, and dup up. Backward writes the forward's y again, unless that is null; it may be dy
  { B::template activation_forward<T>(Activation::silu, x, y, n) };
  { B::template activation_backward<T>(Activation::silu, x, x, y, y, n, add) };             // dy, x, dx, y
  { B::template gated_forward<T>(Activation::silu, x, x, y, n) };                           // f(gate) * up
  { B::template gated_backward<T>(Activation::silu, x, x, x, y, y, y, n, add, add) };       // dy, gate, up, dgate, dup, y
  // softmax over rows; -inf is allowed
  { B::template softmax_forward<T>(x, y, n, n) };
  { B::template softmax_backward<T>(x, x, y, n, n, add) };                                  // dy, y, dx
  // rows of logits [rows, V]: loss = lse - logit[target], 0 where target == ignore; backward writes (softmax - one_hot) * scale,
  // 0 where ignored, and dlogits may be the logits themselves
  { B::template cross_entropy_forward<T>(x, ids, stat, stat, n, n, n) };                    // logits, targets, losses, lse, rows, V, ignore
  { B::template cross_entropy_backward<T>(x, ids, cstat, s, y, n, n, n) };                  // logits, targets, lse, scale, dlogits, rows, V, ignore
  // attention; lse [B, T, H] may be null in forward
  { B::template attention_forward<T, T>(attention, x, x, x, y, stat) };                     // q, k, v, y, lse
  { B::template attention_backward<T>(attention, x, x, x, x, x, cstat, y, y, y, add, add, add) };  // q, k, v, y, dy, lse, dq, dk, dv
  // copies rows [B, T, width] of T into a cache of type KV: row (b, t) goes to b * batch_stride + (starts[b] + t) * width
  { B::template cache_append<T, T>(x, y, n, n, n, n, (const std::int64_t*)nullptr) };       // rows, cache, B, T, width, batch_stride, starts
  // mixtures of experts. Choice j of row r has the number r * active + j. Choices are sorted by expert, so that an expert's rows are one
  // product: order[place] = choice, places[choice] = place; those of expert e begin at begins[e] and end at begins[e + 1], in host memory
  { B::template route_forward<T>(route, x, x, index, stat) };              // logits, bias (may be null), experts, weights
  { B::template route_backward<T>(route, x, ids, cstat, y, add) };         // logits, experts, dweights, dlogits
  { B::template router_statistics<T>(route, x, ids, stat) };               // logits, experts, statistics [2 experts + 1]
  { B::template router_losses<compute_t<T>>(balance, cstat, stat) };       // statistics [routers, 2 experts + 1], losses [experts + 5]
  { B::template router_losses_backward<T>(route, x, cstat, y) };           // logits, losses, dlogits; always adds
  { B::sort_choices(ids, n, n, index, index, (std::int64_t*)nullptr) };    // experts, choices, number of experts, order, places, begins
  { B::template gather_rows<T>(ids, x, y, n, n, n) };           // order, x, y, choices, active, cols: each choice's row of x
  { B::template scale_rows<T>(ids, cstat, y, n, n) };           // order, weights, y, choices, cols: y[place] *= weight of its choice
  { B::template row_dots<T>(ids, x, x, stat, n, n, add) };      // order, a, b, dweights, choices, cols: dot products a[place] . b[place]
  { B::template combine_rows<T>(ids, cstat, x, y, n, n, n, add) };         // places, weights (null: 1), z, y, rows, active, cols: sums
  // n parameters at once
  { B::template adamw<T>(adamw, parts, n) };
};

// clang-format on

}  // namespace llm
