// Attention kernels against PyTorch's numbers.
#include <support/kernel.hpp>

using namespace llm_test;
using llm::compute_t;

namespace {

llm::AttentionArgs sizes(const Golden& golden, const std::string& name, bool position_first) {
  const auto q = golden.tensor<double>(name + "q"), k = golden.tensor<double>(name + "k");
  llm::AttentionArgs a;
  a.B = q.extent(0);
  a.H = q.extent(1);
  a.T = q.extent(2);
  a.E = q.extent(3);
  a.K = k.extent(1);
  a.S = k.extent(2);
  a.kv_batch_stride = a.S * a.K * a.E;
  a.kv_position_stride = position_first ? a.K * a.E : a.E;
  a.kv_head_stride = position_first ? a.E : a.S * a.E;
  a.causal = golden.metadata(name + "causal", "True") == "True";
  a.window = std::stoll(golden.metadata(name + "window", "0"));
  a.scale = 1 / std::sqrt(static_cast<double>(a.E));
  return a;
}

/// position_first: k and v as [B, S, K, E]; otherwise as in the file, [B, K, S, E], read through the strides.
template <class B, class T>
void check_attention(const Golden& golden, const std::string& name, bool position_first) {
  INFO(name << (position_first ? " positions before heads" : " heads before positions"));
  const llm::AttentionArgs a = sizes(golden, name, position_first);
  const auto keys = [&]<class V>(const std::string& tensor, V) {
    const auto t = golden.tensor<V>(name + tensor);
    return position_first ? swap_middle(t) : t.values;
  };
  Buffer<B, T> q(swap_middle(golden.tensor<T>(name + "q"))), dy(swap_middle(golden.tensor<T>(name + "dy")));
  Buffer<B, T> k(keys("k", T())), v(keys("v", T()));
  const std::int64_t queries = a.B * a.T * a.H;
  Buffer<B, T> y(queries * a.E), without_lse(queries * a.E);
  Buffer<B, compute_t<T>> lse(queries);
  B::template attention_forward<T, T>(a, q, k, v, y, lse);
  check_close("y", y.host(), swap_middle(golden.tensor<double>(name + "y")));
  B::template attention_forward<T, T>(a, q, k, v, without_lse, nullptr);
  CHECK(without_lse.host() == y.host());

  check_gradients<B, T>(
      {{"dq", swap_middle(golden.tensor<double>(name + "dq")), 0}, {"dk", keys("dk", double()), 1}, {"dv", keys("dv", double()), 2}}, 1e-5,
      [&](auto& out, auto& add) {
        B::template attention_backward<T>(a, q, k, v, y, dy, lse, out[0], out[1], out[2], add[0], add[1], add[2]);
      });
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("attention kernels agree with PyTorch", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  const auto cases = golden.cases("attention");
  REQUIRE(cases.size() == 10);
  for (const std::string& name : cases) {
    check_attention<B, T>(golden, name, true);
    check_attention<B, T>(golden, name, false);
  }
}

TEMPLATE_LIST_TEST_CASE("the row statistic of attention is the log-sum-exp of the scaled scores", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  const std::string name = "attention.decode.";  // one query, so that it sees all keys
  const llm::AttentionArgs a = sizes(golden, name, false);
  Buffer<B, T> q(swap_middle(golden.tensor<T>(name + "q")));
  auto k = load<B, T>(golden, name + "k"), v = load<B, T>(golden, name + "v");
  Buffer<B, T> y(a.B * a.H * a.E);
  Buffer<B, compute_t<T>> lse(a.B * a.H);
  B::template attention_forward<T, T>(a, q, k, v, y, lse);

  const auto query = golden.tensor<double>(name + "q").values, key = golden.tensor<double>(name + "k").values;
  std::vector<double> expected;
  for (std::int64_t row = 0; row < a.B * a.H; ++row) {
    double total = 0;
    for (std::int64_t s = 0; s < a.S; ++s) {
      double score = 0;
      for (std::int64_t e = 0; e < a.E; ++e)
        score += query[static_cast<std::size_t>(row * a.E + e)] * key[static_cast<std::size_t>((row / (a.H / a.K) * a.S + s) * a.E + e)];
      total += std::exp(score * a.scale);
    }
    expected.push_back(std::log(total));
  }
  check_close("lse", lse.host(), expected);
}
