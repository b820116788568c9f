// The CPU backend's kernels on elements, rows and tokens touch nothing beyond their operands, at any size.
#include <support/guarded.hpp>

#include "cpu_support.hpp"

#if LLM_GUARDS_PAGES
#include <signal.h>

#include <support/child_process.hpp>
#endif

using namespace cpu_test;
using llm::Cpu;
using llm_test::check_within_operands;
using llm_test::Operands;
using llm_test::read;
using llm_test::write;

namespace {

/// Around every width of a vector and of two; more than one unrolled step.
const std::vector<std::int64_t>& sizes() {
  static const std::vector<std::int64_t> all = [] {
    std::vector<std::int64_t> list;
    for (std::int64_t n = 0; n <= 18; ++n) list.push_back(n);
    for (const std::int64_t n : {31, 32, 33, 47, 49, 63, 65, 129}) list.push_back(n);
    return list;
  }();
  return all;
}

template <class T>
void elements(std::int64_t n) {
  using C = llm::compute_t<T>;
  for (const double value : {0.0, 2.5}) check_within_operands("fill", [&](Operands& o) { Cpu::fill<T>(write<T>(o, n), n, value); });
  check_within_operands("fill_normal", [&](Operands& o) { Cpu::fill_normal<T>(write<T>(o, n), n, 1, 2, 3.0); });
  check_within_operands("copy", [&](Operands& o) { Cpu::copy<T>(write<T>(o, n), read<T>(o, n, 1), n); });
  check_within_operands("convert up", [&](Operands& o) { Cpu::convert<C, T>(write<C>(o, n), read<T>(o, n, 1), n); });
  check_within_operands("convert down", [&](Operands& o) { Cpu::convert<T, C>(write<T>(o, n), read<C>(o, n, 1), n); });
  check_within_operands("add", [&](Operands& o) { Cpu::add<T>(read<T>(o, n, 1), read<T>(o, n, 2), write<T>(o, n), n); });
  check_within_operands("accumulate", [&](Operands& o) { Cpu::accumulate<T>(write<T>(o, n), read<T>(o, n, 1), n); });
  check_within_operands("accumulate up", [&](Operands& o) { Cpu::accumulate<C, T>(write<C>(o, n), read<T>(o, n, 1), n); });
  check_within_operands("accumulate down", [&](Operands& o) { Cpu::accumulate<T, C>(write<T>(o, n), read<C>(o, n, 1), n); });
  check_within_operands("scale", [&](Operands& o) { Cpu::scale<T>(write<T>(o, n), n, 0.5); });
  check_within_operands("sums", [&](Operands& o) {
    const llm::Elements<T> arrays[] = {{read<T>(o, n, 1), n}, {read<T>(o, 3, 2), 3}};
    o.out(std::vector<double>(2))[0] = Cpu::sum<T>(arrays[0].data, n) + Cpu::sum_of_squares<T>(arrays, 2);
  });
  for (const auto kind : {llm::Activation::silu, llm::Activation::gelu_tanh, llm::Activation::gelu_erf}) {
    check_within_operands("activation", [&](Operands& o) { Cpu::activation_forward<T>(kind, read<T>(o, n, 1), write<T>(o, n), n); });
    for (const bool again : {false, true})
      check_within_operands("activation's gradient", [&](Operands& o) {
        Cpu::activation_backward<T>(kind, read<T>(o, n, 1), read<T>(o, n, 2), write<T>(o, n), again ? write<T>(o, n) : nullptr, n, again);
      });
  }
  check_within_operands(
      "swiglu", [&](Operands& o) { Cpu::gated_forward<T>(llm::Activation::silu, read<T>(o, n, 1), read<T>(o, n, 2), write<T>(o, n), n); });
  for (const bool again : {false, true})
    check_within_operands("swiglu's gradient", [&](Operands& o) {
      Cpu::gated_backward<T>(llm::Activation::silu, read<T>(o, n, 1), read<T>(o, n, 2), read<T>(o, n, 3), write<T>(o, n), write<T>(o, n),
                             again ? write<T>(o, n) : nullptr, n, again, !again);
    });
  for (const bool apart : {false, true})
    check_within_operands("adamw", [&](Operands& o) {
      const auto squares = o.out(std::vector<C>(static_cast<std::size_t>(n), C(0.25f)));
      const llm::AdamWPart<T> part{
          write<T>(o, n), apart || !std::is_same_v<T, C> ? write<C>(o, n) : nullptr, read<C>(o, n, 1), write<C>(o, n), squares, n, 0.1};
      Cpu::adamw<T>({.lr = 0.01}, &part, 1);
    });
}

template <class T>
void rows(std::int64_t count, std::int64_t cols) {
  using C = llm::compute_t<T>;
  const std::int64_t n = count * cols;
  const auto statistic = [&](Operands& o) { return o.in(std::vector<C>(static_cast<std::size_t>(count), C(0.5f))); };
  check_within_operands("softmax", [&](Operands& o) { Cpu::softmax_forward<T>(read<T>(o, n, 1), write<T>(o, n), count, cols); });
  check_within_operands("rms_norm", [&](Operands& o) {
    Cpu::rms_norm_forward<T>(read<T>(o, n, 1), read<T>(o, cols, 2), write<T>(o, n), write<C>(o, count), count, cols, 1e-5,
                             llm::Rounding::round_then_gain);
  });
  check_within_operands("layer_norm", [&](Operands& o) {
    Cpu::layer_norm_forward<T>(read<T>(o, n, 1), read<T>(o, cols, 2), read<T>(o, cols, 3), write<T>(o, n), write<C>(o, count),
                               write<C>(o, count), count, cols, 1e-5);
  });
  for (const bool add : {false, true}) {
    check_within_operands("softmax's gradient", [&](Operands& o) {
      Cpu::softmax_backward<T>(read<T>(o, n, 1), read<T>(o, n, 2), write<T>(o, n), count, cols, add);
    });
    check_within_operands("rms_norm's gradient", [&](Operands& o) {
      Cpu::rms_norm_backward<T>(read<T>(o, n, 1), read<T>(o, n, 2), read<T>(o, cols, 3), statistic(o), write<T>(o, n), write<C>(o, cols),
                                count, cols, add, !add);
    });
    check_within_operands("layer_norm's gradient", [&](Operands& o) {
      Cpu::layer_norm_backward<T>(read<T>(o, n, 1), read<T>(o, n, 2), read<T>(o, cols, 3), statistic(o), statistic(o), write<T>(o, n),
                                  write<C>(o, cols), write<C>(o, cols), count, cols, add, !add);
    });
    check_within_operands("linear's bias",
                          [&](Operands& o) { Cpu::linear_backward_bias<T>(read<T>(o, n, 1), write<C>(o, cols), count, cols, add); });
  }
  if (cols == 0) return;  // no target
  const auto targets = [&](Operands& o) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count), static_cast<std::int32_t>(cols - 1));
    ids[0] = count > 1 ? -100 : 0;
    return o.in(ids);
  };
  check_within_operands("cross_entropy", [&](Operands& o) {
    Cpu::cross_entropy_forward<T>(read<T>(o, n, 1), targets(o), write<C>(o, count), write<C>(o, count), count, cols, -100);
  });
  check_within_operands("cross_entropy's gradient", [&](Operands& o) {
    Cpu::cross_entropy_backward<T>(read<T>(o, n, 1), targets(o), statistic(o), 0.5, write<T>(o, n), count, cols, -100);
  });
  check_within_operands("embedding", [&](Operands& o) {
    const auto ids = o.in(std::vector<std::int32_t>{static_cast<std::int32_t>(count - 1), 0});
    Cpu::embedding_forward<T>(ids, read<T>(o, n, 1), write<T>(o, 2 * cols), 2, cols);
    Cpu::embedding_backward<T>(ids, read<T>(o, 2 * cols, 2), write<C>(o, n), 2, count, cols);
  });
}

template <class T>
void rotations(std::int64_t half, std::int64_t rest, std::int64_t B = 2, std::int64_t steps = 2, std::int64_t heads = 2) {
  const std::int64_t E = 2 * half + rest, n = B * steps * heads * E;
  for (const bool interleaved : {false, true})
    for (const bool inverse : {false, true})
      check_within_operands("rope", [&](Operands& o) {
        llm::RopeArgs args{.B = B, .T = steps, .heads = heads, .E = E, .width = 2 * half};
        args.cos = read<float>(o, 3 * half, 5);
        args.sin = read<float>(o, 3 * half, 6);
        args.starts = o.in(std::vector<std::int64_t>{0, 1});
        args.interleaved = interleaved;
        args.inverse = inverse;
        Cpu::rope<T>(args, read<T>(o, n, 1), write<T>(o, n), inverse);
      });
}

template <class T, class KV>
void append(std::int64_t width) {
  check_within_operands("cache_append", [&](Operands& o) {
    const auto starts = o.in(std::vector<std::int64_t>{1, 3});
    Cpu::cache_append<T, KV>(read<T>(o, 4 * width, 1), write<KV>(o, 10 * width), 2, 2, width, 5 * width, starts);
  });
}

template <class T>
void empty_sizes() {
  rotations<T>(4, 0, 0);
  rotations<T>(4, 0, 2, 0);
  rotations<T>(4, 0, 2, 2, 0);
  check_within_operands("no rows", [&](Operands& o) {
    using C = llm::compute_t<T>;
    const std::int64_t cols = 5;
    Cpu::softmax_forward<T>(read<T>(o, 0, 1), write<T>(o, 0), 0, cols);
    Cpu::rms_norm_backward<T>(read<T>(o, 0, 1), read<T>(o, 0, 2), read<T>(o, cols, 3), read<C>(o, 0, 4), write<T>(o, 0), write<C>(o, cols),
                              0, cols, false, false);
    Cpu::layer_norm_backward<T>(read<T>(o, 0, 1), read<T>(o, 0, 2), read<T>(o, cols, 3), read<C>(o, 0, 4), read<C>(o, 0, 5), write<T>(o, 0),
                                write<C>(o, cols), write<C>(o, cols), 0, cols, false, true);
    Cpu::embedding_forward<T>(o.in(std::vector<std::int32_t>()), read<T>(o, cols, 1), write<T>(o, 0), 0, cols);
    Cpu::sum_of_squares<T>(static_cast<const llm::Elements<T>*>(nullptr), 0);
    Cpu::adamw<T>({}, nullptr, 0);
  });
}

void halves(std::int64_t n) {
  check_within_operands("convert f16", [&](Operands& o) { Cpu::convert<float, llm::f16>(write<float>(o, n), read<llm::f16>(o, n, 1), n); });
}

template <class T>
void all_kernels() {
  empty_sizes<T>();
  for (const std::int64_t n : sizes()) {
    INFO("size " << n);
    elements<T>(n);
    for (const std::int64_t count : {1, 5}) rows<T>(count, n);
    append<T, T>(n);
    append<T, llm::bf16>(n);
    append<T, llm::f16>(n);
    if (n < 70)
      for (const std::int64_t rest : {0, 1, 6}) rotations<T>(n, rest);
  }
}

}  // namespace

#if LLM_GUARDS_PAGES
TEST_CASE("who touches a byte beyond a guarded operand, or writes one that is read, is ended") {
  using llm_test::Edge;
  const auto touches = [](Edge edge, bool write, std::ptrdiff_t at) {
    return llm_test::run_in_child([&] {
      ::signal(SIGSEGV, SIG_DFL);
      ::signal(SIGBUS, SIG_DFL);
      llm_test::GuardedBytes bytes(17, edge);
      if (!write) bytes.forbid_writing();
      volatile std::byte* byte = bytes.data() + at;
      if (write || at == 3) *byte = std::byte{1};
      return static_cast<int>(*byte);
    });
  };
  CHECK(touches(Edge::end, true, 16) == 1);
  CHECK(touches(Edge::begin, true, 0) == 1);
  CHECK(touches(Edge::none, true, -1) == 1);
  CHECK(touches(Edge::none, true, 17) == 1);
  CHECK(touches(Edge::end, false, 17) < 0);
  CHECK(touches(Edge::begin, false, -1) < 0);
  CHECK(touches(Edge::end, false, 0) == 0);
  CHECK(touches(Edge::end, false, 3) < 0);
}
#endif

TEST_CASE("kernels on elements, rows and tokens touch nothing beyond their operands") {
  if (LLM_GUARDS_PAGES == 0) WARN("pages cannot be guarded here: only that results do not depend on the memory is tested");
  for_each_isa([] {
    all_kernels<float>();
    all_kernels<llm::bf16>();
    for (const std::int64_t n : sizes()) halves(n);
  });
  all_kernels<double>();
}
