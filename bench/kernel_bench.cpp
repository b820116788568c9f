// Speed of the CPU backend's kernels beside the limits of this machine: multiply-adds a second, and bytes read a second.
//
//   kernel_bench [threads] [portable | avx2 | avx512 | avx512_bf16]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>

#include "support/machine.hpp"

namespace {

using bench::seconds;

void report(const char* what, double work, double time, double limit, const char* unit) {
  std::printf("  %-40s %9.1f us %8.1f %s %5.0f %%\n", what, time * 1e6, work / time * 1e-9, unit, 100 * work / time * 1e-9 / limit);
}

void products(std::int64_t M, std::int64_t K, std::int64_t N, double limit) {
  std::printf("product M %lld K %lld N %lld\n", static_cast<long long>(M), static_cast<long long>(K), static_cast<long long>(N));
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  std::vector<float> x(size(M * K), 0.5f), w(size(N * K), 0.25f), y(size(M * N), 1.0f), dx(x.size()), dw(w.size());
  const double flops = 2.0 * static_cast<double>(M * N * K);
  report("forward", flops, seconds([&] { llm::Cpu::linear_forward<float>(x.data(), w.data(), nullptr, y.data(), M, N, K); }), limit,
         "GFLOP/s");
  report("gradient of x", flops, seconds([&] { llm::Cpu::linear_backward_input<float>(y.data(), w.data(), dx.data(), M, N, K, false); }),
         limit, "GFLOP/s");
  report("gradient of w", flops, seconds([&] { llm::Cpu::linear_backward_weight<float>(y.data(), x.data(), dw.data(), M, N, K, true); }),
         limit, "GFLOP/s");
}

void attention(std::int64_t B, std::int64_t T, std::int64_t H, std::int64_t K, std::int64_t E, double limit) {
  std::printf("attention B %lld T %lld H %lld K %lld E %lld\n", static_cast<long long>(B), static_cast<long long>(T),
              static_cast<long long>(H), static_cast<long long>(K), static_cast<long long>(E));
  llm::AttentionArgs args{.B = B, .T = T, .S = T, .H = H, .K = K, .E = E, .scale = 0.2};
  args.kv_batch_stride = T * K * E;
  args.kv_position_stride = K * E;
  args.kv_head_stride = E;
  std::vector<float> q(static_cast<std::size_t>(B * T * H * E), 0.5f), k(static_cast<std::size_t>(B * T * K * E), 0.25f), v(k), y(q), dy(q),
      dq(q), dk(k), dv(k), lse(static_cast<std::size_t>(B * T * H));
  const double flops = 2.0 * static_cast<double>(B * H * T * T * E);  // the causal half of two products
  report("forward", flops,
         seconds([&] { llm::Cpu::attention_forward<float, float>(args, q.data(), k.data(), v.data(), y.data(), lse.data()); }), limit,
         "GFLOP/s");
  report("backward", 2.5 * flops, seconds([&] {
           llm::Cpu::attention_backward<float>(args, q.data(), k.data(), v.data(), y.data(), dy.data(), lse.data(), dq.data(), dk.data(),
                                               dv.data(), false, false, false);
         }),
         limit, "GFLOP/s");
}

/// Kernels that only pass over memory, or read all weights once.
void streams(double limit) {
  const std::int64_t n = 1 << 18, rows = 1024, cols = 128;
  std::vector<float> a(n, 0.5f), b(n, 0.25f), c(n), d(n), e(n), gain(cols, 1.0f), stat(rows);
  const double bytes = 4.0 * static_cast<double>(n);
  std::printf("passes over 2^18 floats\n");
  report("add", 3 * bytes, seconds([&] { llm::Cpu::add<float>(a.data(), b.data(), c.data(), n); }), limit, "GB/s   ");
  report("swiglu forward", 3 * bytes, seconds([&] { llm::Cpu::swiglu_forward<float>(a.data(), b.data(), c.data(), n); }), limit, "GB/s   ");
  report("swiglu backward", 5 * bytes,
         seconds([&] { llm::Cpu::swiglu_backward<float>(a.data(), b.data(), c.data(), d.data(), e.data(), n, false, false); }), limit,
         "GB/s   ");
  const llm::AdamWPart<float> parameter{a.data(), nullptr, b.data(), d.data(), e.data(), n, 0.1};
  report("adamw", 7 * bytes, seconds([&] { llm::Cpu::adamw<float>({.lr = 1e-3}, &parameter, 1); }), limit, "GB/s   ");
  const double some = 4.0 * static_cast<double>(rows * cols);
  report("rms_norm forward, 1024 x 128", 2 * some, seconds([&] {
           llm::Cpu::rms_norm_forward<float>(a.data(), gain.data(), c.data(), stat.data(), rows, cols, 1e-5,
                                             llm::Rounding::round_then_gain);
         }),
         limit, "GB/s   ");
  report("rms_norm backward, 1024 x 128", 3 * some, seconds([&] {
           llm::Cpu::rms_norm_backward<float>(b.data(), a.data(), gain.data(), stat.data(), c.data(), d.data(), rows, cols, false, false);
         }),
         limit, "GB/s   ");
}

void decode(double limit) {
  const std::int64_t N = 32768, K = 2048;
  std::printf("one row times weights of 32768 x 2048\n");
  std::vector<float> x(K, 0.5f), y(N);
  const std::vector<float> w(N * K, 0.5f);
  const std::vector<llm::bf16> half(N * K, llm::bf16(0.5f));
  const std::vector<std::byte> blocks(N * K / 32 * 34, std::byte{1});
  const auto run = [&](llm::DType format, const void* weights) {
    return seconds([&] { llm::Cpu::linear_forward_stored<float>(x.data(), format, weights, nullptr, y.data(), 1, N, K); });
  };
  report("f32", 4.0 * N * K, run(llm::DType::f32, w.data()), limit, "GB/s   ");
  report("bf16", 2.0 * N * K, run(llm::DType::bf16, half.data()), limit, "GB/s   ");
  report("q8_0", 34.0 / 32.0 * N * K, run(llm::DType::q8_0, blocks.data()), limit, "GB/s   ");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) llm::set_num_threads(std::atoi(argv[1]));
  bool known = argc <= 2;
  for (const llm::cpu::Isa isa : llm::cpu::all_isas)
    if (argc > 2 && llm::cpu::to_string(isa) == argv[2]) llm::cpu::set_isa(isa), known = true;
  if (!known) {
    std::fprintf(stderr, "kernel_bench: %s is none of portable, avx2, avx512, avx512_bf16\n", argv[2]);
    return 2;
  }
  const double limit = bench::peak_flops() * 1e-9, bandwidth = bench::read_bandwidth() * 1e-9;
  std::printf("%d threads, %s: peak %.0f GFLOP/s, reads %.1f GB/s\n", llm::num_threads(),
              std::string_view(llm::cpu::to_string(llm::cpu::current_isa())).data(), limit, bandwidth);
  products(1024, 128, 352, limit);
  products(1024, 352, 128, limit);
  products(1024, 128, 128, limit);
  products(1024, 128, 65, limit);
  products(512, 1536, 4096, limit);
  attention(16, 64, 4, 2, 32, limit);
  attention(1, 1024, 12, 4, 128, limit);
  streams(bandwidth);
  decode(bandwidth);
  return 0;
}
