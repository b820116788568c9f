// Mixtures of experts as a layer: what each token passes, memory and bits that do not depend on routing, threads or company.
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <llm/autograd/tape.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/nn/mixture.hpp>
#include <support/catch.hpp>
#include <support/stored_rows.hpp>

namespace {

using llm::dyn, llm::Shape;

constexpr std::int64_t D = 64, F = 96, E = 8;
constexpr llm::MixtureSpec spec{.d_model = D, .experts = E, .ffn_dim = F};
constexpr llm::MixtureSpec spec_shared{.d_model = D, .experts = E, .ffn_dim = F, .shared_ffn_dim = F, .shared_gate = true};

template <class T, class B>
using X = llm::Tensor<T, Shape<dyn, dyn, D>, B>;

template <class T, class B>
X<T, B> tokens(std::int64_t batch, std::int64_t time, std::uint64_t stream = 50) {
  auto x = X<T, B>::empty({batch, time});
  B::template fill_normal<T>(x.data(), x.numel(), 4, stream, 1.0);
  return x;
}

/// A layer with weights of its own: calls f(weight) for each matrix of a gated MLP.
template <class Mlp, class Visit>
void each(Mlp& mlp, const Visit& f) {
  f(mlp.gate_proj.weight), f(mlp.up_proj.weight), f(mlp.down_proj.weight);
}
template <class Routed, class Visit>
void each_of(Routed& routed, const Visit& f) {
  f(routed.router.weight);
  for (auto& expert : *routed.experts) each(expert, f);
}

template <llm::MixtureSpec M, class T, class B>
llm::Mixture<M, llm::Trainable<T>, B> lively() {
  llm::Mixture<M, llm::Trainable<T>, B> layer;
  std::uint64_t stream = 0;
  const auto fill = [&](auto& weight) { B::template fill_normal<T>(weight.data(), weight.numel(), 4, stream++, 0.2); };
  each_of(layer.routed, fill);
  if constexpr (M.shared_gate) each_of(layer.shared, fill);
  layer.routed.options.active = 2;
  return layer;
}

/// The same weights, frozen as f32.
template <llm::MixtureSpec M, class B>
llm::Mixture<M, llm::Frozen, B> frozen(llm::Mixture<M, llm::Trainable<float>, B>& from) {
  llm::Mixture<M, llm::Frozen, B> layer;
  std::vector<std::vector<float>> values;
  const auto keep = [&](auto& weight) { values.push_back(weight.to_vector()); };
  std::size_t at = 0;
  const auto take = [&](auto& weight) {
    using Matrix = std::remove_cvref_t<decltype(weight)>;
    weight = Matrix::from(llm::DType::f32, std::as_bytes(std::span(values.at(at++))));
  };
  each_of(from.routed, keep);
  each_of(layer.routed, take);
  if constexpr (M.shared_gate) {
    each_of(from.shared, keep);
    each_of(layer.shared, take);
  }
  layer.routed.options = from.routed.options;
  return layer;
}

/// Makes every token choose the first two experts.
template <class Layer>
void crowd(Layer& layer) {
  const std::vector<float> zeros(static_cast<std::size_t>(layer.routed.router.weight.numel()));
  layer.routed.router.weight.assign(zeros);  // equal scores
}

}  // namespace

TEMPLATE_TEST_CASE("A token's result is the weighted sum of its experts'", "", llm::Reference, llm::Cpu) {
  const auto layer = lively<spec, double, TestType>();
  const auto x = tokens<double, TestType>(1, 9);
  const auto routing = llm::route(layer.routed.router(x), layer.routed.options);
  const auto experts = routing.experts.to_vector();
  const auto weights = routing.weights.to_vector(), y = layer(x).to_vector();
  std::vector<double> expected(y.size());
  for (std::size_t choice = 0; choice < experts.size(); ++choice) {
    const auto all = (*layer.routed.experts)[static_cast<std::size_t>(experts[choice])](x).to_vector();
    for (std::size_t d = 0; d < D; ++d) expected[choice / 2 * D + d] += weights[choice] * all[choice / 2 * D + d];
  }
  for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == Approx(expected[i]).margin(1e-12));
}

TEMPLATE_TEST_CASE("A frozen mixture gives the numbers of the trainable one", "", llm::Reference, llm::Cpu) {
  for (const std::int64_t time : {1, 40}) {
    auto layer = lively<spec_shared, float, TestType>();
    const auto x = tokens<float, TestType>(1, time);
    CHECK(frozen<spec_shared, TestType>(layer)(x).to_vector() == layer(x).to_vector());
  }
}

TEMPLATE_TEST_CASE("One row of a stored mixture is the weighted sum of its experts'", "", llm::Reference, llm::Cpu) {
  llm::Mixture<spec, llm::Frozen, TestType> layer;
  layer.routed.options.active = E;  // more products than one call takes
  layer.routed.options.normalise = false;
  for (const llm::DType format : {llm::DType::f32, llm::DType::bf16, llm::DType::q8_0, llm::DType::q4_1}) {
    INFO(to_string(format));
    std::uint64_t seed = 0;
    each_of(layer.routed, [&](auto& weight) {
      using Matrix = std::remove_cvref_t<decltype(weight)>;
      const llm::DType own = ++seed % 5 == 0 ? llm::DType::f16 : format;  // as files mix formats
      weight = Matrix::from(own, llm_test::random_rows(own, Matrix::rows, Matrix::columns, seed));
    });
    const auto x = tokens<float, TestType>(1, 1);
    const auto routing = llm::route(layer.routed.router(x), layer.routed.options);
    const auto chosen = routing.experts.to_vector();
    const auto weights = routing.weights.to_vector(), y = layer(x).to_vector();
    std::vector<double> expected(D), size(D);
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      const auto alone = (*layer.routed.experts)[static_cast<std::size_t>(chosen[c])](x).to_vector();
      for (std::size_t d = 0; d < D; ++d) {
        const double term = static_cast<double>(weights[c]) * static_cast<double>(alone[d]);
        expected[d] += term;
        size[d] += std::abs(term);
      }
    }
    for (std::size_t d = 0; d < D; ++d) REQUIRE(std::abs(static_cast<double>(y[d]) - expected[d]) <= 1e-6 * size[d]);
  }
}

TEST_CASE("A mixture's bits do not depend on threads, nor on company among few rows") {
  using B = llm::Cpu;
  auto layer = lively<spec_shared, float, B>();
  const auto x = tokens<float, B>(2, 150);
  const auto run = [&](int threads) {
    llm::set_num_threads(threads);
    auto y = layer(x).to_vector();
    llm::set_num_threads(0);
    return y;
  };
  CHECK(run(1) == run(3));
  const auto few = tokens<float, B>(1, 7);
  const auto together = layer(few).to_vector(), rows = few.to_vector();
  for (std::size_t r = 0; r < 7; ++r) {
    const std::span row(rows.data() + r * D, static_cast<std::size_t>(D));
    const auto alone = layer(X<float, B>::from(row, {1, 1})).to_vector();
    for (std::size_t d = 0; d < D; ++d) REQUIRE(alone[d] == together[r * D + d]);
  }
}

TEMPLATE_TEST_CASE("An expert without tokens gets a gradient of zeros, and what was there stays", "", llm::Reference, llm::Cpu) {
  auto layer = lively<spec, float, TestType>();
  crowd(layer);
  const auto x = tokens<float, TestType>(1, 5);
  const auto backward = [&] {
    llm::Tape tape;
    const auto y = layer(x);
    tape.backward(y, y.detach());
  };
  backward();
  const auto gradient = [&](std::size_t e) { return (*layer.routed.experts)[e].down_proj.weight.grad().to_vector(); };
  for (std::size_t e = 0; e < E; ++e) {
    CHECK((*layer.routed.experts)[e].gate_proj.weight.has_grad());
    CHECK((gradient(e) == std::vector<float>(D * F)) == (e > 1));
  }
  const auto once = gradient(0);
  backward();
  const auto twice = gradient(0);
  for (std::size_t i = 0; i < once.size(); ++i) REQUIRE(twice[i] == Approx(2 * once[i]).margin(1e-5));
}

TEMPLATE_TEST_CASE("A mixture's memory does not depend on what tokens choose", "", llm::Reference, llm::Cpu) {
  auto layer = lively<spec, float, TestType>();
  const auto x = tokens<float, TestType>(1, 33);
  const auto peak = [&](bool train) {
    each_of(layer.routed, [](auto& weight) { weight.clear_grad(); });
    llm::reset_pool_high_water<TestType>();
    llm::Tape tape;
    if (train) {
      const auto y = layer(x);
      tape.backward(y, y.detach());
    } else {
      const llm::NoTape off;
      layer(x);
    }
    return llm::pool_statistics<TestType>().high_water;
  };
  const std::int64_t spread[] = {peak(false), peak(true)};
  crowd(layer);
  CHECK(peak(false) == spread[0]);
  CHECK(peak(true) == spread[1]);
}

TEST_CASE("A stored expert that nothing was put into is refused when a token reaches it") {
  using B = llm::Cpu;
  auto from = lively<spec, float, B>();
  crowd(from);  // to the first two
  const auto x = tokens<float, B>(1, 5);
  for (std::size_t empty = 0; empty < from.routed.experts->size(); ++empty)
    for (const auto which : {0, 1, 2}) {
      auto layer = frozen(from);
      auto& expert = (*layer.routed.experts)[empty];
      if (which == 0) expert.gate_proj.weight = {};
      if (which == 1) expert.up_proj.weight = {};
      if (which == 2) expert.down_proj.weight = {};
      if (empty < 2)
        CHECK_THROWS_WITH(layer(x), Catch::Contains("llm::mixture") && Catch::Contains("empty"));
      else
        CHECK_NOTHROW(layer(x));
    }
}

TEST_CASE("A router is asked for what it has") {
  const auto logits = llm::Tensor<float, Shape<dyn, 6>, llm::Reference>::zeros({3});
  CHECK_THROWS_AS(llm::route(logits, {.active = 0}), llm::ValueError);
  CHECK_THROWS_AS(llm::route(logits, {.active = 7}), llm::ValueError);
  CHECK_THROWS_AS(llm::route(logits, {.active = 1, .groups = 4}), llm::ValueError);
  CHECK_THROWS_AS(llm::route(logits, {.active = 1, .groups = 3, .active_groups = 4}), llm::ValueError);
  CHECK_THROWS_WITH(llm::route(logits, {.active = 1, .groups = 3, .active_groups = 0}), Catch::Contains("active_groups 0"));
  const auto eight = llm::Tensor<float, llm::Shape<llm::dyn, 8>, llm::Reference>::from(std::vector<float>(8), {1});
  CHECK_NOTHROW(llm::route(eight, {.active = 4, .groups = 4, .active_groups = 2}));
  CHECK_THROWS_WITH(llm::route(eight, {.active = 5, .groups = 4, .active_groups = 2}),
                    Catch::Contains("active, of the experts in active groups, 5 is not in 1 .. 4"));
  const auto layer = lively<spec, float, llm::Reference>();
  const auto x = tokens<float, llm::Reference>(1, 4);
  CHECK_THROWS_AS(llm::mixture(x, llm::route(logits, {.active = 1}), layer.routed.experts), llm::ShapeError);
}
