// The backward passes of routing and of mixtures of experts against central differences, in double, on both backends.
#include <utility>

#include <llm/autograd/gradient_check.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/nn/mixture.hpp>
#include <support/catch.hpp>

namespace {

using llm::dyn, llm::RouteOptions, llm::Shape;

constexpr std::int64_t D = 6, F = 5, E = 8;

void check(const llm::GradientCheck& result) {
  INFO(result.where);
  CHECK(result.checked > 0);
  CHECK(result.worst < 1e-8);
}

template <class B, class S>
llm::Tensor<double, S, B> random_tensor(const S& shape, std::uint64_t stream, double scale = 1.0) {
  auto t = llm::Tensor<double, S, B>::empty(shape);
  B::template fill_normal<double>(t.data(), t.numel(), 3, stream, scale);
  return t;
}

constexpr RouteOptions options[] = {
    {.active = 1},
    {.active = 2},
    {.active = 3, .normalise = false, .scale = 2.5},
    {.active = 2, .sigmoid = true},
    {.active = 2, .sigmoid = true, .normalise = false},
    {.active = 3, .groups = 4, .active_groups = 2, .sigmoid = true, .scale = 1.5},
    {.active = E},
};

template <class B, class Layer, class X, std::size_t... I>
void check_layer(const Layer& layer, X& x, std::index_sequence<I...>) {
  auto& bank = *layer.experts;
  auto router = layer.router.weight;
  check(llm::check_gradient([&] { return layer(x); }, x, router, bank[I].gate_proj.weight..., bank[I].up_proj.weight...,
                            bank[I].down_proj.weight...));
}

}  // namespace

TEMPLATE_TEST_CASE("Gradient of a router's weights", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  auto logits = random_tensor<B>(Shape<dyn, dyn, E>{2, 4}, 1);
  const auto bias = random_tensor<B>(Shape<E>{}, 2);
  for (const RouteOptions& o : options) {
    check(llm::check_gradient([&] { return llm::route(logits, o).weights; }, logits));
    check(llm::check_gradient([&] { return llm::route(logits, o, bias.data()).weights; }, logits));
  }
}

TEMPLATE_TEST_CASE("Gradient of a mixture of experts", "[gradient]", llm::Reference, llm::Cpu) {
  using B = TestType;
  llm::RoutedExperts<D, E, F, llm::Activation::silu, false, llm::Trainable<double>, B> layer;
  std::uint64_t stream = 0;
  const auto fill = [&](auto& t) { t.assign(random_tensor<B>(t.shape(), stream++, 0.7).to_vector()); };
  fill(layer.router.weight);
  for (auto& expert : *layer.experts) fill(expert.gate_proj.weight), fill(expert.up_proj.weight), fill(expert.down_proj.weight);
  auto x = random_tensor<B>(Shape<dyn, dyn, D>{2, 3}, 99);
  for (const RouteOptions& o : options) {
    layer.options = o;
    check_layer<B>(layer, x, std::make_index_sequence<E>{});
  }
}
