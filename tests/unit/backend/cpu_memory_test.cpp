// The CPU backend's kernels make no heap allocation after their first call.
#include "cpu_support.hpp"
//
#include <support/malloc_counter.hpp>  // after <mm_malloc.h>, which declares posix_memalign otherwise

using namespace cpu_test;

namespace {

template <class F>
void no_allocation_after_the_first(const F& f) {
  f();
  CHECK(llm_test::allocations_in(f) == 0);
}

template <class T>
void check_layer(std::int64_t M, std::int64_t N, std::int64_t K) {
  INFO("M " << M << " N " << N << " K " << K);
  const auto x = random_values<T>(M * K, 1), w = random_values<T>(N * K, 2), dy = random_values<T>(M * N, 3);
  std::vector<T> y(dy.size()), dx(x.size());
  std::vector<llm::compute_t<T>> dw(w.size());
  no_allocation_after_the_first([&] {
    llm::Cpu::linear_forward<T>(x.data(), w.data(), nullptr, y.data(), M, N, K);
    llm::Cpu::linear_backward_input<T>(dy.data(), w.data(), dx.data(), M, N, K, false);
    llm::Cpu::linear_backward_weight<T>(dy.data(), x.data(), dw.data(), M, N, K, false);
  });
}

template <class T>
void check_attention(std::int64_t steps) {
  const std::int64_t B = 1, H = 4, K = 2, E = 32, keys = 200;
  const auto q = random_values<T>(B * steps * H * E, 1), k = random_values<T>(B * keys * K * E, 2);
  llm::AttentionArgs args{.B = B, .T = steps, .S = keys, .H = H, .K = K, .E = E};
  args.kv_batch_stride = keys * K * E;
  args.kv_position_stride = K * E;
  args.kv_head_stride = E;
  std::vector<float> lse(static_cast<std::size_t>(B * steps * H));
  std::vector<T> y(q.size()), dq(q.size()), dk(k.size()), dv(k.size());
  no_allocation_after_the_first([&] {
    llm::Cpu::attention_forward<T, T>(args, q.data(), k.data(), k.data(), y.data(), lse.data());
    llm::Cpu::attention_backward<T>(args, q.data(), k.data(), k.data(), y.data(), q.data(), lse.data(), dq.data(), dk.data(), dv.data(),
                                    false, false, false);
  });
}

}  // namespace

TEST_CASE("decoding on past the end of a split of keys allocates nothing") {
  llm::set_num_threads(2);
  const std::int64_t H = 4, K = 2, E = 32, keys = 600;
  const auto q = random_values<float>(H * E, 1), k = random_values<float>(keys * K * E, 2);
  std::vector<float> y(q.size());
  std::int64_t length = 250;
  llm::AttentionArgs args{.B = 1, .T = 1, .S = keys, .H = H, .K = K, .E = E, .kv_lengths = &length};
  args.kv_batch_stride = keys * K * E;
  args.kv_position_stride = K * E;
  args.kv_head_stride = E;
  const auto step = [&] { llm::Cpu::attention_forward<float, float>(args, q.data(), k.data(), k.data(), y.data(), nullptr); };
  step();
  check_layer<float>(64, 512, 512);  // the other layers of a model start the threads
  const auto more = [&] {
    for (; length <= keys; ++length) step();
  };
  CHECK(llm_test::allocations_in(more) == 0);
  llm::set_num_threads(0);
}

TEST_CASE("kernels allocate nothing after their first call") {
  if (LLM_COUNTS_MALLOC == 0) {
    WARN("skipped, malloc cannot be counted in this build");
    return;
  }
  llm::set_num_threads(2);
  for_each_isa([] {
    check_layer<float>(1024, 512, 384);
    check_layer<llm::bf16>(200, 300, 500);
    check_layer<float>(1, 500, 300);
    check_attention<float>(150);
    check_attention<llm::bf16>(150);
    check_attention<float>(1);
  });
  check_layer<float>(256, 4096, 1536);
  check_layer<double>(300, 300, 300);
  llm::set_num_threads(0);
}
