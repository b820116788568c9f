// Kernels beside products: attention, norms, RoPE, SwiGLU, cross-entropy and AdamW, in f32 and bf16, at the sizes of a small model's and a
// 502M model's training step. Attention tells FLOP/s, the others the bytes a second that they read and write.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/tensor/tensor.hpp>

#include "support/benchmark.hpp"

namespace {

using bench::State;
using llm::Cpu;

template <class T>
using Array = llm::Tensor<T, llm::Shape<llm::dyn>>;

/// So many arrays of n random elements, which repeat after a while: new ones would take longer than the kernels.
template <class T, std::size_t Count>
std::array<Array<T>, Count> random_arrays(std::int64_t n) {
  std::array<Array<T>, Count> arrays;
  for (std::size_t i = 0; i < Count; ++i) {
    arrays[i] = Array<T>::empty({n});
    T* x = arrays[i].data();
    const std::int64_t fresh = (std::min)(n, std::int64_t{1} << 16);
    Cpu::fill_normal<T>(x, fresh, 1, i, 1.0);
    for (std::int64_t done = fresh; done < n; done += fresh) std::copy_n(x, (std::min)(fresh, n - done), x + done);
  }
  return arrays;
}

std::string sizes(std::int64_t rows, std::int64_t cols) { return "/" + std::to_string(rows) + "x" + std::to_string(cols); }

/// Registers f(arrays, statistics), which passes `passes` times over rows x cols elements; statistics are float arrays as long as a row or
/// a column.
template <class T, std::size_t Count, class F>
void add_pass(const std::string& name, std::int64_t rows, std::int64_t cols, double passes, const F& f) {
  bench::add(name, [=](State& state) {
    auto arrays = random_arrays<T, Count>(rows * cols);
    auto statistics = random_arrays<float, 4>((std::max)(rows, cols));
    bench::time_calls(state, [&] { f(arrays, statistics); });
    state.counters["bytes/s"] = bench::rate(passes * static_cast<double>(rows * cols) * sizeof(T));
  });
}

// a: arrays; s: statistics of the rows, then gradients of the gain and the bias
template <class T>
void add_norms(const std::string& type, std::int64_t rows, std::int64_t cols) {
  const std::string end = "/" + type + sizes(rows, cols);
  constexpr auto rounding = llm::Rounding::round_then_gain;
  add_pass<T, 3>("rms_norm/forward" + end, rows, cols, 2, [=](auto& a, auto& s) {
    Cpu::rms_norm_forward<T>(a[0].data(), a[1].data(), a[2].data(), s[0].data(), rows, cols, 1e-5, rounding);
  });
  add_pass<T, 4>("rms_norm/backward" + end, rows, cols, 3, [=](auto& a, auto& s) {
    Cpu::rms_norm_backward<T>(a[0].data(), a[1].data(), a[2].data(), s[0].data(), a[3].data(), s[2].data(), rows, cols, false, false);
  });
  add_pass<T, 4>("layer_norm/forward" + end, rows, cols, 2, [=](auto& a, auto& s) {
    Cpu::layer_norm_forward<T>(a[0].data(), a[1].data(), a[2].data(), a[3].data(), s[0].data(), s[1].data(), rows, cols, 1e-5);
  });
  add_pass<T, 4>("layer_norm/backward" + end, rows, cols, 3, [=](auto& a, auto& s) {
    Cpu::layer_norm_backward<T>(a[0].data(), a[1].data(), a[2].data(), s[0].data(), s[1].data(), a[3].data(), s[2].data(), s[3].data(),
                                rows, cols, false, false);
  });
}

template <class T>
void add_activations(const std::string& type, std::int64_t rows, std::int64_t cols) {
  const std::int64_t n = rows * cols;
  const std::string end = "/" + type + sizes(rows, cols);
  add_pass<T, 3>("swiglu/forward" + end, rows, cols, 3,
                 [n](auto& a, auto&) { Cpu::gated_forward<T>(llm::Activation::silu, a[0].data(), a[1].data(), a[2].data(), n); });
  add_pass<T, 5>("swiglu/backward" + end, rows, cols, 5, [n](auto& a, auto&) {
    Cpu::gated_backward<T>(llm::Activation::silu, a[0].data(), a[1].data(), a[2].data(), a[3].data(), a[4].data(), nullptr, n, false,
                           false);
  });
  add_pass<T, 2>("gelu/forward" + end, rows, cols, 2,
                 [n](auto& a, auto&) { Cpu::activation_forward<T>(llm::Activation::gelu_tanh, a[0].data(), a[1].data(), n); });
  add_pass<T, 3>("gelu/backward" + end, rows, cols, 3, [n](auto& a, auto&) {
    Cpu::activation_backward<T>(llm::Activation::gelu_tanh, a[0].data(), a[1].data(), a[2].data(), nullptr, n, false);
  });
}

template <class T>
void add_cross_entropy(const std::string& type, std::int64_t rows, std::int64_t vocab) {
  const std::string end = "/" + type + sizes(rows, vocab);
  const std::vector<std::int32_t> targets(static_cast<std::size_t>(rows), 7);
  add_pass<T, 1>("cross_entropy/forward" + end, rows, vocab, 1, [=](auto& a, auto& s) {
    Cpu::cross_entropy_forward<T>(a[0].data(), targets.data(), s[0].data(), s[1].data(), rows, vocab, std::int64_t{-100});
  });
  add_pass<T, 2>("cross_entropy/backward" + end, rows, vocab, 2, [=](auto& a, auto& s) {
    Cpu::cross_entropy_backward<T>(a[0].data(), targets.data(), s[0].data(), 1.0, a[1].data(), rows, vocab, std::int64_t{-100});
  });
}

/// The sizes of one attention call.
struct Heads {
  std::int64_t B, T, H, K, E;
  std::string name() const { return sizes(B, T) + "x" + std::to_string(H) + "x" + std::to_string(K) + "x" + std::to_string(E); }
  llm::AttentionArgs args() const {
    return {.B = B,
            .T = T,
            .S = T,
            .H = H,
            .K = K,
            .E = E,
            .kv_batch_stride = T * K * E,
            .kv_position_stride = K * E,
            .kv_head_stride = E,
            .scale = 0.1};
  }
  /// The causal half of the two products of forward; backward does five such products.
  double flops() const { return 2.0 * static_cast<double>(B * H * T * (T + 1) * E); }
};

/// q, k, v, y and d_y, room for their gradients, and lse.
template <class T>
struct AttentionArrays {
  std::array<Array<T>, 8> a;
  Array<float> lse;

  explicit AttentionArrays(const Heads& h) : a(random_arrays<T, 8>(h.B * h.T * h.H * h.E)), lse(Array<float>::empty({h.B * h.T * h.H})) {
    forward(h);
  }
  void forward(const Heads& h) { Cpu::attention_forward<T, T>(h.args(), a[0].data(), a[1].data(), a[2].data(), a[3].data(), lse.data()); }
  void backward(const Heads& h) {
    Cpu::attention_backward<T>(h.args(), a[0].data(), a[1].data(), a[2].data(), a[3].data(), a[4].data(), lse.data(), a[5].data(),
                               a[6].data(), a[7].data(), false, false, false);
  }
};

template <class T>
void add_attention(const std::string& type, const Heads& h) {
  bench::add("attention/forward/" + type + h.name(), [h](State& state) {
    AttentionArrays<T> arrays(h);
    bench::time_calls(state, [&] { arrays.forward(h); });
    state.counters["FLOP/s"] = bench::rate(h.flops());
  });
  bench::add("attention/backward/" + type + h.name(), [h](State& state) {
    AttentionArrays<T> arrays(h);
    bench::time_calls(state, [&] { arrays.backward(h); });
    state.counters["FLOP/s"] = bench::rate(2.5 * h.flops());
  });
}

template <class T>
void add_rope(const std::string& type, const Heads& h) {
  const std::int64_t n = h.B * h.T * h.H * h.E;
  const std::vector<float> table(static_cast<std::size_t>(h.T * h.E / 2), 0.7f);
  add_pass<T, 2>("rope/" + type + h.name(), n / h.E, h.E, 2, [=](auto& a, auto&) {
    const llm::RopeArgs args{.B = h.B, .T = h.T, .heads = h.H, .E = h.E, .width = h.E, .cos = table.data(), .sin = table.data()};
    Cpu::rope<T>(args, a[0].data(), a[1].data(), false);
  });
}

template <class T>
void add_type(const std::string& type) {
  const Heads small{16, 64, 4, 2, 32}, large{1, 256, 12, 4, 128}, long_context{1, 2048, 12, 4, 128};
  for (const Heads& heads : {small, large, long_context}) add_attention<T>(type, heads);
  for (const Heads& heads : {small, large}) add_rope<T>(type, heads);
  add_norms<T>(type, 1024, 128);
  add_norms<T>(type, 256, 1536);
  add_activations<T>(type, 1024, 352);
  add_activations<T>(type, 256, 4096);
  add_cross_entropy<T>(type, 1024, 65);
  add_cross_entropy<T>(type, 256, 32000);
}

void add_all() {
  bench::add_limits();
  add_type<float>("f32");
  add_type<llm::bf16>("bf16");
  add_pass<float, 4>("adamw/f32/16384x1024", 1 << 14, 1 << 10, 7, [](auto& a, auto&) {
    const llm::AdamWPart<float> parameter{.param = a[0].data(), .grad = a[1].data(), .m = a[2].data(), .v = a[3].data(), .n = 1 << 24};
    Cpu::adamw<float>({.lr = 1e-3}, &parameter, 1);
  });
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
