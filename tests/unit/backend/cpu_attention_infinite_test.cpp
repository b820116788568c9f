// Attention with scores of -inf: such a key weighs nothing, and what it does to its row does not depend on how the keys are cut.
#include "cpu_support.hpp"

using namespace cpu_test;

namespace {

struct Case {
  std::int64_t T, S, E, window;
  bool causal;
  std::int64_t first, last;  // keys of -inf
};

// Whole splits of 256 keys and whole tiles of 64: first ones, ones between, last ones, parts, all of them.
const Case cases[] = {{1, 700, 20, 0, true, 0, 256},  {1, 700, 32, 0, true, 256, 512}, {1, 700, 32, 0, true, 500, 700},
                      {1, 700, 20, 0, true, 0, 699},  {1, 700, 16, 0, true, 0, 700},   {1, 300, 16, 100, true, 0, 256},
                      {1, 5, 8, 0, false, 0, 5},      {1, 5, 8, 0, false, 1, 4},       {70, 200, 20, 0, true, 0, 64},
                      {70, 200, 32, 0, true, 0, 128}, {70, 200, 32, 0, true, 64, 128}, {70, 200, 20, 0, true, 0, 129},
                      {70, 200, 16, 0, true, 0, 131}, {70, 200, 32, 0, true, 0, 150},  {70, 200, 16, 0, false, 0, 200},
                      {130, 130, 32, 0, true, 0, 65}, {130, 130, 20, 9, true, 20, 90}, {130, 130, 32, 70, true, 0, 130},
                      {3, 300, 48, 0, true, 0, 256},  {3, 300, 48, 0, true, 0, 300},   {2, 70, 7, 0, false, 5, 69}};

constexpr std::int64_t H = 4, K = 2;

/// Queries whose first element is positive, so that a key beginning with -inf has a score of -inf.
template <class T, class KV>
struct Operands {
  Case c;
  std::vector<T> q, dy;
  std::vector<KV> k, v;
  llm::AttentionArgs args;

  explicit Operands(const Case& z)
      : c(z),
        q(random_values<T>(z.T * H * z.E, 1)),
        dy(random_values<T>(z.T * H * z.E, 2)),
        k(random_values<KV>(z.S * K * z.E, 3)),
        v(random_values<KV>(z.S * K * z.E, 4)) {
    for (std::int64_t i = 0; i < z.T * H; ++i) q[static_cast<std::size_t>(i * z.E)] = T(0.5f + static_cast<float>(i % 3));
    for (std::int64_t i = z.first * K; i < z.last * K; ++i)
      k[static_cast<std::size_t>(i * z.E)] = KV(-std::numeric_limits<float>::infinity());
    args = {.B = 1, .T = z.T, .S = z.S, .H = H, .K = K, .E = z.E};
    args.kv_batch_stride = z.S * K * z.E;
    args.kv_position_stride = K * z.E;
    args.kv_head_stride = z.E;
    args.window = z.window;
    args.causal = z.causal;
    args.scale = 1 / std::sqrt(static_cast<double>(z.E));
  }
};

std::string text(const Case& c) {
  return "T " + std::to_string(c.T) + " S " + std::to_string(c.S) + " E " + std::to_string(c.E) + " window " + std::to_string(c.window) +
         (c.causal ? " causal" : "") + ", keys of -inf " + std::to_string(c.first) + " to " + std::to_string(c.last);
}

template <class T, class KV>
void check_forward(const Case& c) {
  INFO(text(c));
  const Operands<T, KV> in(c);
  std::vector<T> y(in.q.size());
  std::vector<float> lse(static_cast<std::size_t>(c.T * H));
  const auto q = in_double(in.q), k = in_double(in.k), v = in_double(in.v);
  std::vector<double> want(y.size()), want_lse(lse.size());
  llm::Cpu::attention_forward<T, KV>(in.args, in.q.data(), in.k.data(), in.v.data(), y.data(), lse.data());
  llm::Reference::attention_forward<double, double>(in.args, q.data(), k.data(), v.data(), want.data(), want_lse.data());
  CHECK(distance(y, want) < tolerance<T>);
  CHECK(distance(lse, want_lse) < 1e-4);
}

template <class T>
void check_backward(const Case& c, double allowed) {
  INFO(text(c));
  const Operands<T, T> in(c);
  const auto q = in_double(in.q), k = in_double(in.k), v = in_double(in.v), dy = in_double(in.dy);
  std::vector<double> y(q.size()), lse(static_cast<std::size_t>(c.T * H)), want_dq(q.size()), want_dk(k.size()), want_dv(k.size());
  llm::Reference::attention_forward<double, double>(in.args, q.data(), k.data(), v.data(), y.data(), lse.data());
  std::vector<T> narrow_y, dq(q.size()), dk(k.size()), dv(k.size());
  for (const double value : y) narrow_y.push_back(T(value));
  const std::vector<float> narrow_lse(lse.begin(), lse.end());
  const auto rounded_y = in_double(narrow_y);
  llm::Cpu::attention_backward<T>(in.args, in.q.data(), in.k.data(), in.v.data(), narrow_y.data(), in.dy.data(), narrow_lse.data(),
                                  dq.data(), dk.data(), dv.data(), false, false, false);
  llm::Reference::attention_backward<double>(in.args, q.data(), k.data(), v.data(), rounded_y.data(), dy.data(), lse.data(), want_dq.data(),
                                             want_dk.data(), want_dv.data(), false, false, false);
  CHECK(distance(dq, want_dq) < allowed);
  CHECK(distance(dk, want_dk) < allowed);
  CHECK(distance(dv, want_dv) < allowed);
}

}  // namespace

TEST_CASE("keys whose scores are -inf weigh nothing, wherever tiles and splits begin") {
  for_each_isa([] {
    for (const Case& c : cases) {
      check_forward<float, float>(c);
      check_forward<float, llm::bf16>(c);
      check_forward<float, llm::f16>(c);
      check_forward<llm::bf16, llm::bf16>(c);
    }
  });
}

TEST_CASE("the gradient of attention with scores of -inf is the reference's") {
  for_each_isa([] {
    for (const Case& c : cases) {
      if (c.first != 0 && c.causal) continue;  // an infinite key beside those that a query sees spoils the gradient of both
      check_backward<float>(c, 3e-5);
      check_backward<llm::bf16>(c, 2e-2);
    }
  });
}

TEST_CASE("scores that overflow to -inf weigh nothing") {
  for_each_isa([] {
    for (const Case& c : cases) {
      Operands<float, float> in(c);
      for (std::int64_t i = 0; i < c.T * H; ++i) in.q[static_cast<std::size_t>(i * c.E)] = 1e20f;
      for (std::int64_t i = 0; i < c.S * K; ++i)
        in.k[static_cast<std::size_t>(i * c.E)] = i >= c.first * K && i < c.last * K ? -1e20f : 1e-20f;
      std::vector<float> y(in.q.size()), want(y.size()), lse(static_cast<std::size_t>(c.T * H)), want_lse(lse.size());
      llm::Cpu::attention_forward<float, float>(in.args, in.q.data(), in.k.data(), in.v.data(), y.data(), lse.data());
      llm::Reference::attention_forward<float, float>(in.args, in.q.data(), in.k.data(), in.v.data(), want.data(), want_lse.data());
      INFO(text(c));
      CHECK(distance(y, in_double(want)) < 1e-4);
      CHECK(distance(lse, in_double(want_lse)) < 1e-4);
    }
  });
}
