// The CPU backend's products and attention touch nothing beyond their operands, at any size, with any number of threads.
#include <llm/core/quant_encode.hpp>
#include <support/guarded.hpp>
#include <support/stored_rows.hpp>

#include "cpu_support.hpp"

using namespace cpu_test;
using llm::Cpu;
using llm_test::check_within_operands;
using llm_test::Operands;
using llm_test::read;
using llm_test::some_values;
using llm_test::write;

namespace {

template <class T>
void linear(std::int64_t M, std::int64_t N, std::int64_t K) {
  using C = llm::compute_t<T>;
  INFO("M " << M << " N " << N << " K " << K);
  check_within_operands("linear", [&](Operands& o) {
    Cpu::linear_forward<T>(read<T>(o, M * K, 1), read<T>(o, N * K, 2), M % 2 == 0 ? nullptr : read<T>(o, N, 3), write<T>(o, M * N), M, N,
                           K);
  });
  const bool add = N % 2 == 0;
  check_within_operands("gradient of the input", [&](Operands& o) {
    Cpu::linear_backward_input<T>(read<T>(o, M * N, 1), read<T>(o, N * K, 2), write<T>(o, M * K), M, N, K, add);
  });
  check_within_operands("gradient of the weight", [&](Operands& o) {
    Cpu::linear_backward_weight<T>(read<T>(o, M * N, 1), read<T>(o, M * K, 2), write<C>(o, N * K), M, N, K, !add);
  });
}

const std::byte* stored(Operands& o, llm::DType format, std::int64_t N, std::int64_t K) {
  if (format == llm::DType::bf16) return reinterpret_cast<const std::byte*>(read<llm::bf16>(o, N * K, 2));
  if (format == llm::DType::f16) return reinterpret_cast<const std::byte*>(read<llm::f16>(o, N * K, 2));
  if (format == llm::DType::f32) return reinterpret_cast<const std::byte*>(read<float>(o, N * K, 2));
  return o.in(llm_test::kept_rows<Cpu>(format, llm_test::random_rows(format, N, K, 2), N, K));
}

template <class T>
void linear_stored(llm::DType format, std::int64_t M, std::int64_t N, std::int64_t K) {
  INFO(llm::to_string(format) << " M " << M << " N " << N << " K " << K);
  check_within_operands("stored weights", [&](Operands& o) {
    Cpu::linear_forward_stored<T>(read<T>(o, M * K, 1), format, stored(o, format, N, K), read<T>(o, N, 3), write<T>(o, M * N), M, N, K);
  });
}

template <class T>
void products() {
  for (const std::int64_t M : {1, 2, 3, 8, 9, 13})
    for (const std::int64_t N : {1, 3, 4, 15, 17, 33, 50})
      for (const std::int64_t K : {1, 2, 7, 9, 15, 16, 17, 31, 33}) linear<T>(M, N, K);
  for (const std::int64_t M : {0, 1, 9})
    for (const std::int64_t N : {0, 1, 33})
      for (const std::int64_t K : {0, 1, 33}) linear<T>(M, N, K);
  for (std::int64_t n = 1; n <= 34; ++n) linear<T>(n, 35 - n, n);
  linear<T>(70, 131, 601);  // several panels and pieces of the depth
  linear<T>(1100, 17, 33);  // a weight's gradient in parts
  linear<T>(5, 257, 1025);
}

template <class T>
void stored_products() {
  for (const llm::DType format : {llm::DType::f32, llm::DType::bf16, llm::DType::f16})
    for (const std::int64_t M : {1, 2, 5, 9, 33})
      for (const std::int64_t N : {1, 3, 5, 17, 49})
        for (const std::int64_t K : {1, 7, 15, 17, 31, 32, 33, 96}) linear_stored<T>(format, M, N, K);
  for (const bool exact : {false, true}) {
    llm::set_f32_activations(exact);
    for (const llm::DType format : llm_test::block_formats)
      for (const std::int64_t M : {1, 2, 7, 9})
        for (const std::int64_t N : {1, 17, 49})
          for (const std::int64_t blocks : {1, 3}) linear_stored<T>(format, M, N, blocks * llm::block_format(format).elements);
  }
  llm::set_f32_activations(false);
}

struct Shape {
  std::int64_t B, T, S, H, K, E, window;
};

/// Keys and values lie dense at the end of what the kernel may touch, with `room` positions more in all rows but the last.
template <class T, class KV>
void attention(const Shape& z, bool causal) {
  using C = llm::compute_t<T>;
  INFO("B " << z.B << " T " << z.T << " S " << z.S << " H " << z.H << " K " << z.K << " E " << z.E << " window " << z.window);
  llm::AttentionArgs a{.B = z.B, .T = z.T, .S = z.S, .H = z.H, .K = z.K, .E = z.E, .window = z.window, .causal = causal};
  const std::int64_t room = 2, queries = z.B * z.T * z.H, keys = z.B == 0 ? 0 : ((z.B - 1) * (z.S + room) + z.S) * z.K * z.E;
  a.kv_batch_stride = (z.S + room) * z.K * z.E;
  a.kv_position_stride = z.K * z.E;
  a.kv_head_stride = z.E;
  for (const bool with_lse : {false, true})
    check_within_operands("attention", [&](Operands& o) {
      Cpu::attention_forward<T, KV>(a, read<T>(o, queries * z.E, 1), read<KV>(o, keys, 2), read<KV>(o, keys, 3), write<T>(o, queries * z.E),
                                    with_lse ? write<C>(o, queries) : nullptr);
    });
  if constexpr (std::is_same_v<T, KV>)
    for (const bool add : {false, true})
      check_within_operands("attention's gradient", [&](Operands& o) {
        const std::vector<C> lse(static_cast<std::size_t>(queries), C(3.0f));
        Cpu::attention_backward<T>(a, read<T>(o, queries * z.E, 1), read<T>(o, keys, 2), read<T>(o, keys, 3), read<T>(o, queries * z.E, 4),
                                   read<T>(o, queries * z.E, 5), o.in(lse), write<T>(o, queries * z.E), write<T>(o, keys),
                                   write<T>(o, keys), add, !add, add);
      });
}

template <class T, class KV>
void attentions() {
  for (const bool causal : {false, true}) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33}) {
      for (const std::int64_t steps : {1, 5}) attention<T, KV>({2, steps, 9, 4, 2, n, 0}, causal);
      attention<T, KV>({1, 1, n, 2, 1, 17, 0}, causal);
      attention<T, KV>({1, n, n, 2, 1, 8, 5}, causal);
    }
    for (const std::int64_t S : {63, 65, 129}) attention<T, KV>({1, S, S, 3, 1, 20, 0}, causal);
    for (const std::int64_t S : {255, 257, 515}) attention<T, KV>({2, 1, S, 4, 2, 33, S / 2}, causal);
    attention<T, KV>({1, 1, 300, 2, 2, 80, 0}, causal);
  }
  for (const std::int64_t steps : {0, 1, 3})
    for (const std::int64_t S : {0, 1, 5})
      for (const std::int64_t heads : {0, 2})
        for (const std::int64_t E : {0, 8}) {
          attention<T, KV>({1, steps, S, heads, heads, E, 0}, true);
          attention<T, KV>({0, steps, S, heads, heads, E, 0}, true);
        }
  attention<T, KV>({1, 3, 2, 2, 1, 16, 0}, true);  // queries that see nothing
}

}  // namespace

TEST_CASE("products touch nothing beyond their operands") {
  llm::set_num_threads(3);  // the small ones stay on one
  for_each_isa([] {
    products<float>();
    products<llm::bf16>();
    stored_products<float>();
    stored_products<llm::bf16>();
  });
  products<double>();
  stored_products<double>();
  llm::set_num_threads(0);
}

TEST_CASE("attention touches nothing beyond its operands") {
  llm::set_num_threads(3);  // the small ones stay on one
  for_each_isa([] {
    attentions<float, float>();
    attentions<float, llm::bf16>();
    attentions<float, llm::f16>();
    attentions<llm::bf16, llm::bf16>();
  });
  attentions<double, double>();
  llm::set_num_threads(0);
}
