// Results of the CPU backend do not depend on the number of threads; threads and instruction sets are chosen as documented.
#include <cstdlib>
#include <functional>
#include <string>

#include <support/watchdog.hpp>

#include "cpu_support.hpp"

using namespace cpu_test;

namespace {

/// Runs f with 1, 2 and 8 threads and checks that its result has the same bits.
template <class F>
void same_for_any_thread_count(const F& f) {
  const llm_test::Watchdog watchdog;
  llm::set_num_threads(1);
  const auto alone = f();
  for (const int threads : {2, 8}) {
    INFO("threads " << threads);
    llm::set_num_threads(threads);
    CHECK(f() == alone);
  }
  llm::set_num_threads(0);
}

std::vector<unsigned char> joined(std::vector<unsigned char> a, const std::vector<unsigned char>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <class T>
std::vector<unsigned char> layer_bits(std::int64_t M, std::int64_t N, std::int64_t K) {
  const auto x = random_values<T>(M * K, 1), w = random_values<T>(N * K, 2), dy = random_values<T>(M * N, 3);
  std::vector<T> out(static_cast<std::size_t>(M * N + M * K));
  std::vector<llm::compute_t<T>> parameters(static_cast<std::size_t>(N * K + N));
  llm::Cpu::linear_forward<T>(x.data(), w.data(), nullptr, out.data(), M, N, K);
  llm::Cpu::linear_backward_input<T>(dy.data(), w.data(), out.data() + M * N, M, N, K, false);
  llm::Cpu::linear_backward_weight<T>(dy.data(), x.data(), parameters.data(), M, N, K, false);
  llm::Cpu::linear_backward_bias<T>(dy.data(), parameters.data() + N * K, M, N, false);
  return joined(bits(out), bits(parameters));
}

template <class T>
std::vector<unsigned char> row_bits() {
  const std::int64_t rows = 700, cols = 65, n = rows * cols;
  const auto x = random_values<T>(n, 1), dy = random_values<T>(n, 2), gain = random_values<T>(cols, 3);
  std::vector<llm::compute_t<T>> inverse(rows), dgain(cols);
  std::vector<T> out(static_cast<std::size_t>(3 * n));
  llm::Cpu::rms_norm_forward<T>(x.data(), gain.data(), out.data(), inverse.data(), rows, cols, 1e-5, llm::Rounding::round_then_gain);
  llm::Cpu::rms_norm_backward<T>(dy.data(), x.data(), gain.data(), inverse.data(), out.data() + n, dgain.data(), rows, cols, false, false);
  llm::Cpu::softmax_forward<T>(x.data(), out.data() + 2 * n, rows, cols);
  return joined(bits(out), bits(dgain));
}

template <class T>
std::vector<unsigned char> attention_bits(std::int64_t steps, std::int64_t keys) {
  const std::int64_t B = 2, H = 4, K = 2, E = 16;
  const auto q = random_values<T>(B * steps * H * E, 1), dy = random_values<T>(B * steps * H * E, 2);
  const auto k = random_values<T>(B * keys * K * E, 3), v = random_values<T>(B * keys * K * E, 4);
  llm::AttentionArgs args{.B = B, .T = steps, .S = keys, .H = H, .K = K, .E = E};
  args.kv_batch_stride = keys * K * E;
  args.kv_position_stride = K * E;
  args.kv_head_stride = E;
  std::vector<llm::compute_t<T>> lse(static_cast<std::size_t>(B * steps * H));
  std::vector<T> y(q.size()), dq(q.size()), dk(k.size()), dv(v.size());
  llm::Cpu::attention_forward<T, T>(args, q.data(), k.data(), v.data(), y.data(), lse.data());
  llm::Cpu::attention_backward<T>(args, q.data(), k.data(), v.data(), y.data(), dy.data(), lse.data(), dq.data(), dk.data(), dv.data(),
                                  false, false, false);
  for (const auto* part : {&dq, &dk, &dv}) y.insert(y.end(), part->begin(), part->end());
  return bits(y);
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const llm::ValueError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("products have the same bits on any number of threads [threads]") {
  for_each_isa([] {
    same_for_any_thread_count([] { return layer_bits<float>(300, 70, 130); });
    same_for_any_thread_count([] { return layer_bits<llm::bf16>(200, 100, 300); });
    same_for_any_thread_count([] { return layer_bits<float>(1537, 70, 33); });
    same_for_any_thread_count([] { return layer_bits<llm::bf16>(1024, 33, 70); });
    same_for_any_thread_count([] { return layer_bits<float>(1, 900, 200); });
  });
  same_for_any_thread_count([] { return layer_bits<double>(150, 200, 60); });
}

TEST_CASE("norms and softmax have the same bits on any number of threads [threads]") {
  for_each_isa([] {
    same_for_any_thread_count([] { return row_bits<float>(); });
    same_for_any_thread_count([] { return row_bits<llm::bf16>(); });
  });
}

TEST_CASE("attention has the same bits on any number of threads [threads]") {
  for_each_isa([] {
    same_for_any_thread_count([] { return attention_bits<float>(100, 100); });
    same_for_any_thread_count([] { return attention_bits<llm::bf16>(70, 150); });
    same_for_any_thread_count([] { return attention_bits<float>(1, 700); });
  });
}

TEST_CASE("sums have the same bits on any number of threads [threads]") {
  const auto x = random_values<float>(100000, 1);
  const llm::Elements<float> arrays[]{{x.data(), 70000}, {x.data() + 70000, 5}, {x.data() + 70005, 29995}};
  same_for_any_thread_count([&] {
    return std::vector<double>{llm::Cpu::sum<float>(x.data(), 100000), llm::Cpu::sum_of_squares<float>(arrays, 3)};
  });
}

TEST_CASE("set_num_threads says how many threads are used: one without OpenMP [threads][no_omp]") {
  CHECK(llm::num_threads() >= 1);
  llm::set_num_threads(3);
  CHECK(llm::num_threads() == (llm::cpu::has_threads ? 3 : 1));
  llm::set_num_threads(0);
  CHECK(llm::num_threads() == llm::cpu::default_threads());
  CHECK(message_of([] { llm::set_num_threads(-2); }) == "llm::set_num_threads(-2): expected 1 or more, or 0 for the default");
}

TEST_CASE("an exception inside a parallel loop reaches the caller") {
  llm::set_num_threads(2);
  const auto loop = [] {
    llm::cpu::parallel_for(100, 1 << 20, [](std::int64_t i) {
      if (i == 57) throw llm::ValueError("block 57");
    });
  };
  CHECK_THROWS_AS(loop(), llm::ValueError);
  llm::set_num_threads(0);
}

TEST_CASE("a parallel loop visits each index once, also inside another one") {
  llm::set_num_threads(4);
  std::vector<int> visits(50 * 50);
  llm::cpu::parallel_for(50, 1 << 20, [&](std::int64_t i) {
    llm::cpu::parallel_for(50, 1 << 20, [&](std::int64_t j) { ++visits[static_cast<std::size_t>(i * 50 + j)]; });
  });
  for (const int count : visits) REQUIRE(count == 1);
  llm::set_num_threads(0);
}

TEST_CASE("LLM_ISA chooses the instruction set and names what it cannot") {
  const auto with_variable = [](const char* value) {
    ::setenv("LLM_ISA", value, 1);
    const std::string message = message_of([] { llm::cpu::detect_isa(); });
    ::unsetenv("LLM_ISA");
    return message;
  };
  CHECK(with_variable("sse9") == "llm: LLM_ISA=sse9 is none of portable, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16");
  CHECK(with_variable("portable").empty());
  for (const llm::cpu::Isa isa :
       {llm::cpu::Isa::avx2, llm::cpu::Isa::avx2_vnni, llm::cpu::Isa::avx512, llm::cpu::Isa::avx512_vnni, llm::cpu::Isa::avx512_bf16}) {
    const std::string name(llm::cpu::to_string(isa));
    const std::string missing = "llm: this CPU (or this build) has no " + name + " instructions";
    CHECK(with_variable(name.c_str()) == (llm::cpu::has_isa(isa) ? "" : missing));
  }
}
