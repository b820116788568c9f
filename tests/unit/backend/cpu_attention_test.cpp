// The CPU backend's attention against the reference in double.
#include "cpu_support.hpp"

using namespace cpu_test;

namespace {

struct Case {
  std::int64_t B, T, S, H, K, E, window;
  bool causal;
};

// Edges of the tiles of 64 queries and keys and of the splits of 256 keys; MHA, GQA, MQA; a cache longer than the queries.
const Case cases[] = {{1, 1, 1, 1, 1, 4, 0, true},      {2, 9, 9, 6, 2, 8, 0, true},      {2, 64, 64, 4, 2, 32, 0, true},
                      {1, 65, 65, 2, 2, 20, 0, true},   {1, 130, 130, 3, 1, 16, 0, true}, {2, 3, 70, 4, 2, 8, 0, true},
                      {1, 100, 200, 2, 1, 48, 0, true}, {1, 70, 70, 2, 1, 7, 0, false},   {1, 150, 150, 2, 1, 8, 9, true},
                      {2, 1, 300, 6, 2, 64, 0, true},   {1, 1, 700, 8, 1, 72, 0, true},   {1, 1, 600, 2, 2, 33, 290, true},
                      {1, 40, 40, 2, 1, 100, 0, true},  {1, 300, 600, 2, 1, 16, 0, true}, {1, 520, 520, 2, 2, 8, 130, true},
                      {1, 5, 300, 2, 1, 8, 20, true},   {2, 1, 9500, 4, 2, 96, 0, true},  {3, 1, 5, 2, 1, 8, 0, false}};

template <class T, class KV = T>
struct Attention {
  Case c;
  std::vector<std::int64_t> lengths;
  std::vector<T> q, dy;
  std::vector<KV> k, v;
  llm::AttentionArgs args;

  // Keys lie as in a cache [B, S, K, E]; with `uneven` rows have fewer and fewer keys of it.
  Attention(Case z, bool uneven)
      : c(z),
        q(random_values<T>(z.B * z.T * z.H * z.E, 1)),
        dy(random_values<T>(z.B * z.T * z.H * z.E, 2)),
        k(random_values<KV>(z.B * z.S * z.K * z.E, 3)),
        v(random_values<KV>(z.B * z.S * z.K * z.E, 4)) {
    for (std::int64_t b = 0; b < z.B; ++b) lengths.push_back((std::max)(z.T, z.S - 3 * b));
    args = {.B = z.B,
            .T = z.T,
            .S = z.S,
            .H = z.H,
            .K = z.K,
            .E = z.E,
            .kv_batch_stride = z.S * z.K * z.E,
            .kv_position_stride = z.K * z.E,
            .kv_head_stride = z.E,
            .kv_lengths = uneven ? lengths.data() : nullptr,
            .window = z.window,
            .causal = z.causal,
            .scale = 0.7 / std::sqrt(static_cast<double>(z.E))};
  }
};

template <class T, class KV>
void check_forward(const Case& c, bool uneven, double allowed) {
  INFO("B " << c.B << " T " << c.T << " S " << c.S << " H " << c.H << " K " << c.K << " E " << c.E << " uneven " << uneven);
  Attention<T, KV> in(c, uneven);
  if (uneven)  // what stands behind a row's last key must not matter
    for (std::int64_t b = 0; b < c.B; ++b)
      for (std::int64_t i = in.lengths[static_cast<std::size_t>(b)] * c.K * c.E; i < c.S * c.K * c.E; ++i)
        in.k[static_cast<std::size_t>(b * c.S * c.K * c.E + i)] = in.v[static_cast<std::size_t>(b * c.S * c.K * c.E + i)] =
            KV(std::numeric_limits<float>::quiet_NaN());
  const auto q = in_double(in.q), k = in_double(in.k), v = in_double(in.v);
  std::vector<T> y(in.q.size());
  std::vector<llm::compute_t<T>> lse(static_cast<std::size_t>(c.B * c.T * c.H));
  std::vector<double> want(y.size()), want_lse(lse.size());
  llm::Cpu::attention_forward<T, KV>(in.args, in.q.data(), in.k.data(), in.v.data(), y.data(), lse.data());
  llm::Reference::attention_forward<double, double>(in.args, q.data(), k.data(), v.data(), want.data(), want_lse.data());
  CHECK(distance(y, want) < allowed);
  CHECK(distance(lse, want_lse) < 1e-4);
  std::vector<T> without(y.size());
  llm::Cpu::attention_forward<T, KV>(in.args, in.q.data(), in.k.data(), in.v.data(), without.data(), nullptr);
  CHECK(bits(without) == bits(y));
}

template <class T>
void check_backward(const Case& c, bool uneven, bool add, double allowed) {
  INFO("B " << c.B << " T " << c.T << " S " << c.S << " H " << c.H << " K " << c.K << " E " << c.E << " uneven " << uneven);
  Attention<T> in(c, uneven);
  const auto q = in_double(in.q), k = in_double(in.k), v = in_double(in.v), dy = in_double(in.dy);
  std::vector<double> y(q.size()), lse(static_cast<std::size_t>(c.B * c.T * c.H));
  llm::Reference::attention_forward<double, double>(in.args, q.data(), k.data(), v.data(), y.data(), lse.data());
  std::vector<T> narrow_y;
  for (const double value : y) narrow_y.push_back(T(value));
  const std::vector<llm::compute_t<T>> narrow_lse(lse.begin(), lse.end());
  auto dq = random_values<T>(c.B * c.T * c.H * c.E, 5), dk = random_values<T>(c.B * c.S * c.K * c.E, 6), dv = dk;
  auto want_dq = in_double(dq), want_dk = in_double(dk), want_dv = in_double(dv);
  llm::Cpu::attention_backward<T>(in.args, in.q.data(), in.k.data(), in.v.data(), narrow_y.data(), in.dy.data(), narrow_lse.data(),
                                  dq.data(), dk.data(), dv.data(), add, !add, add);
  llm::Reference::attention_backward<double>(in.args, q.data(), k.data(), v.data(), y.data(), dy.data(), lse.data(), want_dq.data(),
                                             want_dk.data(), want_dv.data(), add, !add, add);
  CHECK(distance(dq, want_dq) < allowed);
  CHECK(distance(dk, want_dk) < allowed);
  CHECK(distance(dv, want_dv) < allowed);
}

}  // namespace

TEST_CASE("attention agrees with the reference") {
  for_each_isa([] {
    for (const Case& c : cases)
      for (const bool uneven : {false, true}) {
        check_forward<float, float>(c, uneven, 1e-5);
        check_forward<float, llm::bf16>(c, uneven, 1e-5);
        check_forward<llm::bf16, llm::bf16>(c, uneven, 4e-3);
      }
  });
  check_forward<double, double>(cases[1], true, 1e-12);
}

TEST_CASE("the gradient of attention agrees with the reference") {
  for_each_isa([] {
    for (const Case& c : cases)
      for (const bool uneven : {false, true})
        for (const bool add : {false, true}) {
          check_backward<float>(c, uneven, add, 3e-5);
          check_backward<llm::bf16>(c, uneven, add, 2e-2);
        }
  });
  check_backward<double>(cases[1], true, true, 1e-12);
}

TEST_CASE("a query that sees no key gives zeros, and so does its gradient") {
  for_each_isa([] {
    Attention<float> in({1, 4, 2, 2, 1, 8, 0, true}, false);  // queries 0 and 1 stand before the first key
    std::vector<float> y(in.q.size(), 9), lse(8), dq(in.q.size()), dk(in.k.size()), dv(in.k.size());
    llm::Cpu::attention_forward<float, float>(in.args, in.q.data(), in.k.data(), in.v.data(), y.data(), lse.data());
    for (std::size_t i = 0; i < 32; ++i) CHECK(y[i] == 0.0f);
    CHECK(lse[0] == -std::numeric_limits<float>::infinity());
    llm::Cpu::attention_backward<float>(in.args, in.q.data(), in.k.data(), in.v.data(), y.data(), in.dy.data(), lse.data(), dq.data(),
                                        dk.data(), dv.data(), false, false, false);
    for (std::size_t i = 0; i < 32; ++i) CHECK(dq[i] == 0.0f);
    for (const float value : dk) CHECK(std::isfinite(value));
  });
}

TEST_CASE("scores of +-1000 neither overflow nor vanish") {
  for_each_isa([] {
    Attention<float> in({1, 70, 70, 2, 1, 16, 0, true}, false);
    in.args.scale = 300;
    const auto q = in_double(in.q), k = in_double(in.k), v = in_double(in.v);
    std::vector<float> y(in.q.size()), lse(140);
    std::vector<double> want(y.size()), want_lse(lse.size());
    llm::Cpu::attention_forward<float, float>(in.args, in.q.data(), in.k.data(), in.v.data(), y.data(), lse.data());
    llm::Reference::attention_forward<double, double>(in.args, q.data(), k.data(), v.data(), want.data(), want_lse.data());
    CHECK(distance(y, want) < 5e-3);  // float scores of 4000 have steps of 2.4e-4
  });
}

TEST_CASE("rows are appended to a cache of another type") {
  const std::vector<std::int64_t> starts{3, 0};
  const auto rows = random_values<float>(2 * 4 * 10, 1);
  std::vector<llm::bf16> cache(2 * 8 * 10, llm::bf16(9.0f)), want = cache;
  llm::Cpu::cache_append<float, llm::bf16>(rows.data(), cache.data(), 2, 4, 10, 80, starts.data());
  llm::Reference::cache_append<float, llm::bf16>(rows.data(), want.data(), 2, 4, 10, 80, starts.data());
  CHECK(bits(cache) == bits(want));
}

TEST_CASE("a query that is not a number is not silently zero [nanlogits]") {
  for_each_isa([] {
    const std::int64_t H = 2, K = 1, E = 8;
    for (const std::int64_t T : {1, 3}) {
      auto q = random_values<float>(T * H * E, 1);
      const auto k = random_values<float>(T * K * E, 2);
      q[0] = std::numeric_limits<float>::quiet_NaN();  // the first query of the first head
      std::vector<float> y(q.size());
      llm::AttentionArgs args{.B = 1, .T = T, .S = T, .H = H, .K = K, .E = E};
      args.kv_batch_stride = T * K * E;
      args.kv_position_stride = K * E;
      args.kv_head_stride = E;
      llm::Cpu::attention_forward<float, float>(args, q.data(), k.data(), k.data(), y.data(), nullptr);
      for (std::int64_t i = 0; i < T * H * E; ++i) CHECK(std::isnan(y[static_cast<std::size_t>(i)]) == (i < E));
    }
  });
}
