// Attention of random sizes against the reference in double, and the cases that the golden files do not have.
#include <support/kernel.hpp>

using namespace llm_test;
using llm::AttentionArgs;
using llm::compute_t;
using llm::Reference;

namespace {

template <class List>
auto pick(llm::Rng& rng, const List& list) {
  return *(std::begin(list) + static_cast<std::ptrdiff_t>(rng.below(std::size(list))));
}

/// Sizes drawn at random; the keys lie in a cache with room for more positions than there are.
AttentionArgs random_sizes(llm::Rng& rng) {
  AttentionArgs a;
  a.B = pick(rng, std::initializer_list<std::int64_t>{1, 2, 3});
  a.T = pick(rng, std::initializer_list<std::int64_t>{0, 1, 1, 3, 17, 33, 65});
  a.S = pick(rng, std::initializer_list<std::int64_t>{0, 1, 7, 33, 65, 129});
  a.K = pick(rng, std::initializer_list<std::int64_t>{1, 2});
  a.H = a.K * pick(rng, std::initializer_list<std::int64_t>{1, 3, 4});
  a.E = pick(rng, std::initializer_list<std::int64_t>{1, 3, 8, 17, 64});
  a.window = pick(rng, std::initializer_list<std::int64_t>{0, 0, 1, 5, 40});
  a.causal = rng.below(4) != 0;
  a.kv_head_stride = a.E;
  a.kv_position_stride = a.K * a.E;
  a.kv_batch_stride = (a.S + pick(rng, std::initializer_list<std::int64_t>{0, 5})) * a.kv_position_stride;
  a.scale = 1 / std::sqrt(static_cast<double>(a.E));
  return a;
}

std::int64_t cache_size(const AttentionArgs& a) { return a.B * a.kv_batch_stride; }

/// The elements of a cache that hold one of the S positions.
template <class T>
std::vector<T> used(const AttentionArgs& a, const std::vector<T>& cache) {
  std::vector<T> out;
  for (std::int64_t b = 0; b < a.B; ++b)
    for (std::int64_t i = 0; i < a.S * a.kv_position_stride; ++i) out.push_back(cache[static_cast<std::size_t>(b * a.kv_batch_stride + i)]);
  return out;
}

template <class B, class T>
void check_random_attention(std::uint64_t seed) {
  llm::Rng rng(seed);
  AttentionArgs a = random_sizes(rng);
  std::vector<std::int64_t> lengths;
  for (std::int64_t b = 0; b < a.B; ++b) lengths.push_back(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(a.S) + 1)));
  Buffer<B, std::int64_t> length_buffer(lengths);
  const bool uneven = rng.below(2) == 0;
  INFO("seed " << seed << ": B " << a.B << " T " << a.T << " S " << a.S << " H " << a.H << " K " << a.K << " E " << a.E << " window "
               << a.window << " causal " << a.causal << " uneven " << uneven);
  AttentionArgs wide_args = a;
  a.kv_lengths = uneven ? static_cast<std::int64_t*>(length_buffer) : nullptr;
  wide_args.kv_lengths = uneven ? lengths.data() : nullptr;

  const std::int64_t queries = a.B * a.T * a.H;
  Input<B, T> q(queries * a.E, 1), k(cache_size(a), 2), v(cache_size(a), 3), dy(queries * a.E, 4);
  Buffer<B, T> y(queries * a.E);
  Buffer<B, compute_t<T>> lse(queries);
  std::vector<double> y_wide(static_cast<std::size_t>(queries * a.E)), lse_wide(static_cast<std::size_t>(queries));
  B::template attention_forward<T, T>(a, q, k, v, y, lse);
  Reference::attention_forward<double>(wide_args, q.wide.data(), k.wide.data(), v.wide.data(), y_wide.data(), lse_wide.data());
  check_close("y", y.host(), y_wide, kernel_tolerance<T>);
  check_close("lse", lse.host(), lse_wide, kernel_tolerance<compute_t<T>>);

  Input<B, T> y_rounded(y.host());  // the oracle's gradients are those at the rounded y and the same statistic
  const auto lse_host = lse.host();
  const std::vector<double> lse_same(lse_host.begin(), lse_host.end());
  std::vector<double> dq(q.wide.size()), dk(k.wide.size()), dv(v.wide.size());
  Reference::attention_backward<double>(wide_args, q.wide.data(), k.wide.data(), v.wide.data(), y_rounded.wide.data(), dy.wide.data(),
                                        lse_same.data(), dq.data(), dk.data(), dv.data(), false, false, false);
  for (const bool add : {false, true}) {
    Input<B, T> d_q(q.wide.size() == 0 ? 0 : queries * a.E, 5), d_k(cache_size(a), 6), d_v(cache_size(a), 7);
    B::template attention_backward<T>(a, q, k, v, y, dy, lse, d_q, d_k, d_v, add, add, add);
    const auto sum = [&](const std::vector<double>& start, std::vector<double> gradient) {
      for (std::size_t i = 0; add && i < gradient.size(); ++i) gradient[i] += start[i];
      return gradient;
    };
    const double tolerance = kernel_tolerance<T> * 2;
    check_close("dq", d_q.buffer.host(), sum(d_q.wide, dq), tolerance);
    check_close("dk", used(a, d_k.buffer.host()), used(a, sum(d_k.wide, dk)), tolerance);
    check_close("dv", used(a, d_v.buffer.host()), used(a, sum(d_v.wide, dv)), tolerance);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("attention of random sizes", "[kernels]", KernelBackendsWithBf16) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) check_random_attention<typename TestType::Backend, typename TestType::Scalar>(seed);
}

TEMPLATE_LIST_TEST_CASE("a query that sees no key gives 0, -inf and no gradient", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  AttentionArgs a{.B = 1, .T = 3, .S = 4, .H = 2, .K = 1, .E = 2};
  a.kv_batch_stride = 8;
  a.kv_position_stride = a.kv_head_stride = 2;
  Buffer<B, std::int64_t> lengths(std::vector<std::int64_t>{1});  // queries stand at -2, -1, 0: only the last sees key 0
  a.kv_lengths = lengths;
  Buffer<B, T> q(random_values<T>(12, 1)), dy(random_values<T>(12, 2)), k(random_values<T>(8, 3)), v(random_values<T>(8, 4)), y(12);
  Buffer<B, compute_t<T>> lse(6);
  B::template attention_forward<T, T>(a, q, k, v, y, lse);
  const auto out = y.host(), value = v.host();
  const auto statistic = lse.host();
  for (std::size_t i = 0; i < 8; ++i) CHECK(out[i] == T(0.0f));
  for (std::size_t i = 8; i < 12; ++i) CHECK(out[i] == value[i % 2]);  // one key: its value
  for (std::size_t i = 0; i < 4; ++i) CHECK(statistic[i] == -std::numeric_limits<compute_t<T>>::infinity());

  Buffer<B, T> dq(12), dk(8), dv(8);
  B::template attention_backward<T>(a, q, k, v, y, dy, lse, dq, dk, dv, false, false, false);
  const auto d_query = dq.host(), d_key = dk.host(), d_value = dv.host();
  for (std::size_t i = 0; i < 12; ++i) CHECK(std::abs(static_cast<double>(d_query[i])) <= kernel_tolerance<T>);
  for (std::size_t i = 0; i < 8; ++i) CHECK(std::abs(static_cast<double>(d_query[i])) == 0);
  for (std::size_t i = 2; i < 8; ++i) {
    CHECK(d_key[i] == T(0.0f));  // positions beyond the length are written, with 0
    CHECK(d_value[i] == T(0.0f));
  }
  const auto up = dy.host();
  for (std::size_t e = 0; e < 2; ++e)
    CHECK(std::abs(static_cast<double>(d_value[e]) - static_cast<double>(up[8 + e]) - static_cast<double>(up[10 + e])) <=
          kernel_tolerance<T> * 2);
}

TEMPLATE_LIST_TEST_CASE("attention reads no key beyond a row's length or above a query's position [kv_equal]", "[kernels]",
                        KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const std::int64_t room = 64, E = 8;
  for (const std::int64_t T_new : {1, 5, 20}) {
    INFO("T " << T_new);
    AttentionArgs a{.B = 2, .T = T_new, .S = 40, .H = 4, .K = 2, .E = E};
    a.kv_head_stride = E;
    a.kv_position_stride = 2 * E;
    a.kv_batch_stride = room * a.kv_position_stride;
    const std::vector<std::int64_t> lengths{40, 23};
    Buffer<B, std::int64_t> length_buffer(lengths);
    a.kv_lengths = length_buffer;
    auto keys = random_values<T>(cache_size(a), 1), values = random_values<T>(cache_size(a), 2);
    Buffer<B, T> q(random_values<T>(2 * T_new * 4 * E, 3));
    Buffer<B, T> clean_y(2 * T_new * 4 * E), dirty_y(2 * T_new * 4 * E);
    B::template attention_forward<T, T>(a, q, Buffer<B, T>(keys), Buffer<B, T>(values), clean_y, nullptr);
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t i = lengths[static_cast<std::size_t>(b)] * a.kv_position_stride; i < a.kv_batch_stride; ++i)
        keys[static_cast<std::size_t>(b * a.kv_batch_stride + i)] = values[static_cast<std::size_t>(b * a.kv_batch_stride + i)] =
            T(std::numeric_limits<float>::quiet_NaN());
    B::template attention_forward<T, T>(a, q, Buffer<B, T>(keys), Buffer<B, T>(values), dirty_y, nullptr);
    CHECK(dirty_y.host() == clean_y.host());
  }
}

TEMPLATE_LIST_TEST_CASE("attention over a bf16 cache is attention over its values", "[kernels]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const std::int64_t E : {5, 64}) {
    AttentionArgs a{.B = 2, .T = 3, .S = 20, .H = 4, .K = 2, .E = E};
    a.kv_head_stride = E;
    a.kv_position_stride = 2 * E;
    a.kv_batch_stride = 20 * a.kv_position_stride;
    Input<B, llm::bf16> k(cache_size(a), 1), v(cache_size(a), 2);
    Input<B, T> q(2 * 3 * 4 * E, 3);
    Buffer<B, T> y(2 * 3 * 4 * E);
    Buffer<B, compute_t<T>> lse(24);
    B::template attention_forward<T, llm::bf16>(a, q, k, v, y, lse);
    std::vector<double> expected(q.wide.size()), lse_expected(24);
    Reference::attention_forward<double>(a, q.wide.data(), k.wide.data(), v.wide.data(), expected.data(), lse_expected.data());
    check_close("y", y.host(), expected, kernel_tolerance<T>);
    check_close("lse", lse.host(), lse_expected, kernel_tolerance<T>);
  }
}

namespace {
template <class B, class T, class KV>
void check_cache_append() {
  const std::int64_t batch = 2, T_new = 3, width = 5, room = 7;
  const auto rows = random_values<T>(batch * T_new * width, 1);
  const auto before = random_values<KV>(batch * room * width, 2);
  Buffer<B, T> row_buffer(rows);
  for (const std::vector<std::int64_t>& starts : {std::vector<std::int64_t>{0, 4}, std::vector<std::int64_t>{2, 1}}) {
    Buffer<B, std::int64_t> start_buffer(starts);
    Buffer<B, KV> cache(before);
    B::template cache_append<T, KV>(row_buffer, cache, batch, T_new, width, room * width, start_buffer);
    auto expected = before;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t i = 0; i < T_new * width; ++i)
        expected[static_cast<std::size_t>((b * room + starts[static_cast<std::size_t>(b)]) * width + i)] =
            KV(compute_t<T>(rows[static_cast<std::size_t>(b * T_new * width + i)]));
    check_close("cache", cache.host(), expected, 0);
  }
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("cache_append writes its rows, rounded, and nothing else", "[kernels]", KernelBackendsWithBf16) {
  check_cache_append<typename TestType::Backend, typename TestType::Scalar, typename TestType::Scalar>();
  check_cache_append<typename TestType::Backend, typename TestType::Scalar, llm::bf16>();
}
