// The attention layer: the order of QK-norm and RoPE.
//
// A rotation keeps a head's norm, so RMSNorm without gains commutes with it. With gains g it does so exactly when both elements of each
// rotated pair have the same gain; otherwise the two orders give other outputs at every position but 0, though no shape shows it.
#include <cmath>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/attention.hpp>
#include <support/catch.hpp>

namespace {

using llm::dyn;
using llm::Shape;

constexpr std::int64_t B = 2, T = 7, D = 24, H = 4, K = 2, E = 8;

enum class Gains { one, equal_in_pairs, any };

template <class Backend>
struct Orders {
  static constexpr llm::AttentionSpec spec{.d_model = D, .n_heads = H, .n_kv_heads = K, .head_dim = E, .rope_width = E, .qk_norm = true};
  using Layer = llm::Attention<spec, llm::Trainable<double>, Backend>;
  using X = llm::Tensor<double, Shape<dyn, dyn, D>, Backend>;
  using Tables = llm::RopeTables<E, Backend>;

  Layer layer;
  Tables tables;
  X x = X::empty({B, T});
  llm::Positions<Backend> positions = llm::Positions<Backend>::from(0);

  Orders(Gains gains, bool interleaved) : tables(Tables::build(T, 10000.0, interleaved)) {
    std::uint64_t stream = 0;
    const auto normal = [&](auto& t, double stddev) { Backend::template fill_normal<double>(t.data(), t.numel(), 3, stream++, stddev); };
    normal(x, 1.0);
    normal(layer.q_proj.weight, 0.5);
    normal(layer.k_proj.weight, 0.5);
    normal(layer.v_proj.weight, 0.5);
    normal(layer.o_proj.weight, 0.5);
    layer.q_norm.weight.assign(gain_values(gains, interleaved, 1.0));
    layer.k_norm.weight.assign(gain_values(gains, interleaved, 0.7));
  }

  static std::vector<double> gain_values(Gains gains, bool interleaved, double first) {
    std::vector<double> values(E, 1.0);
    for (std::size_t i = 0; i < E; ++i) {
      const std::size_t pair = interleaved ? i / 2 : i % (E / 2);
      if (gains == Gains::equal_in_pairs) values[i] = first + 0.3 * static_cast<double>(pair);
      if (gains == Gains::any) values[i] = first + 0.2 * static_cast<double>(i);
    }
    return values;
  }

  /// The layer composed from ops, in either order.
  X composed(bool norm_first) const {
    const auto turn = [&](const auto& h) { return llm::rope(h, tables, positions); };
    const auto both = [&](const auto& h, const auto& norm) { return norm_first ? turn(norm(h)) : norm(turn(h)); };
    const Shape<dyn, dyn, K, E> kv(B, T);
    const auto q = both(layer.q_proj(x).view(Shape<dyn, dyn, H, E>(B, T)), layer.q_norm);
    const auto k = both(layer.k_proj(x).view(kv), layer.k_norm);
    const auto y = llm::attention(q, k, layer.v_proj(x).view(kv));
    return layer.o_proj(y.view(Shape<dyn, dyn, H * E>(B, T)));
  }
  X by_layer() const { return layer(x, llm::Pass<E, double, Backend>{&tables, positions, {}}); }
};

/// Largest difference of two elements.
template <class X>
double difference(const X& a, const X& b) {
  const auto left = a.to_vector(), right = b.to_vector();
  double largest = 0.0;
  for (std::size_t i = 0; i < left.size(); ++i) largest = std::fmax(largest, std::abs(left[i] - right[i]));
  return largest;
}

constexpr double rounding = 1e-6;  // the tables of cos and sin are f32

}  // namespace

TEMPLATE_TEST_CASE("QK-norm comes before RoPE", "", llm::Reference, llm::Cpu) {
  for (const bool interleaved : {false, true}) {
    const Orders<TestType> orders(Gains::any, interleaved);
    CHECK(difference(orders.by_layer(), orders.composed(true)) < 1e-12);
    CHECK(difference(orders.by_layer(), orders.composed(false)) > 1e-2);
  }
}

TEMPLATE_TEST_CASE("The order of QK-norm and RoPE matters under gains that differ within a pair", "", llm::Reference, llm::Cpu) {
  for (const bool interleaved : {false, true}) {
    const auto between_orders = [&](Gains gains) {
      const Orders<TestType> orders(gains, interleaved);
      return difference(orders.composed(true), orders.composed(false));
    };
    CHECK(between_orders(Gains::one) < rounding);
    CHECK(between_orders(Gains::equal_in_pairs) < rounding);
    CHECK(between_orders(Gains::any) > 1e-2);
  }
}

TEST_CASE("At position 0 nothing is turned, so both orders agree there") {
  const Orders<llm::Cpu> orders(Gains::any, false);
  const auto a = orders.composed(true).to_vector(), b = orders.composed(false).to_vector();
  for (std::size_t i = 0; i < D; ++i) CHECK(std::abs(a[i] - b[i]) < rounding);
}
