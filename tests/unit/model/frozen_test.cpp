// Models with frozen weights: the same numbers as a trainable one from the same weights, and no gradients.
#include <llm/autograd/tape.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/model/freeze.hpp>

#include <support/model.hpp>

using namespace llm_test;

namespace {

template <const llm::Config& C, class Backend>
using FrozenModel = llm::LLM<C, llm::Frozen, Backend>;

/// The wiring that a frozen model has: RMSNorm, SwiGLU, tied; QK-norm, untied; LayerNorm, biases, learned positions, post-norm.
template <class Backend, class F>
void for_each_wiring(F&& f) {
  f.template operator()<llama_tiny>();
  f.template operator()<modern_tiny>();
  f.template operator()<gpt2_tiny_post>();
}

template <class Model>
typename Model::Ids some_ids() {
  return Model::Ids::from({3, 1, 4, 1, 5, 9, 2, 6}, {2, 4});
}

}  // namespace

TEMPLATE_TEST_CASE("A frozen model in f32 computes what the trainable one does", "", llm::Reference, llm::Cpu) {
  for_each_wiring<TestType>([]<const llm::Config & C>() {
    using Frozen = FrozenModel<C, TestType>;
    const auto trainable = llm::LLM<C, llm::Trainable<float>, TestType>::random(7);
    const auto frozen = llm::freeze(trainable);
    const auto ids = some_ids<Frozen>();
    CHECK(frozen(ids).to_vector() == trainable(ids).to_vector());
    CHECK(frozen.loss(ids, ids).item() == trainable.loss(ids, ids).item());
    CHECK(frozen.loss(ids, ids, {.chunk_bytes = 1}).item() == Approx(trainable.loss(ids, ids).item()).margin(1e-5));
    const auto states = frozen.hidden_states(ids), expected = trainable.hidden_states(ids);
    REQUIRE(states.size() == expected.size());
    for (std::size_t i = 0; i < states.size(); ++i) CHECK(states[i].to_vector() == expected[i].to_vector());
    typename Frozen::Cache cache(2), other(2);
    CHECK(frozen.last_logits(ids, cache).to_vector() == trainable.last_logits(ids, other).to_vector());
    CHECK(frozen(ids, cache).to_vector() == trainable(ids, other).to_vector());
    CHECK(Frozen::random(7)(ids).to_vector() == trainable(ids).to_vector());
  });
}

TEST_CASE("A frozen model keeps the element type it is made from, but for f64") {
  const auto formats = [](const auto& model) {
    std::vector<std::pair<bool, llm::DType>> all;
    model.for_each_parameter([&](const auto& p) { all.emplace_back(p.is_matrix(), p.format()); });
    return all;
  };
  for (const auto& [matrix, format] : formats(llm::freeze(llm::LLM<llama_tiny, llm::Trainable<llm::bf16>>::random(1))))
    CHECK(format == (matrix ? llm::DType::bf16 : llm::DType::f32));
  for (const auto& [matrix, format] : formats(llm::freeze(llm::LLM<llama_tiny, llm::Trainable<double>>::random(1))))
    CHECK(format == llm::DType::f32);
}

TEST_CASE("A frozen model lists the same parameters as a trainable one") {
  const auto facts = [](const auto& model) {
    std::vector<std::string> all;
    model.for_each_parameter([&](const auto& p) {
      std::string text = p.name() + (p.is_matrix() ? " matrix" : " vector");
      for (const std::int64_t extent : p.shape()) text += ' ' + std::to_string(extent);
      all.push_back(text);
    });
    return all;
  };
  using Frozen = FrozenModel<gpt2_tiny_pre, llm::Cpu>;
  CHECK(facts(Frozen::random(1)) == facts(llm::LLM<gpt2_tiny_pre>::random(1)));
  CHECK(Frozen::parameter_count == llm::LLM<gpt2_tiny_pre>::parameter_count);
}

TEST_CASE("Parameters are assigned in any format, and a clone stays as it was") {
  using Frozen = FrozenModel<llama_tiny, llm::Cpu>;
  auto model = Frozen::random(1);
  const auto ids = some_ids<Frozen>();
  const auto before = model(ids).to_vector();
  const auto copy = model.clone();
  model.for_each_parameter([](auto& p) {
    const std::vector<double> values(static_cast<std::size_t>(p.numel()), 0.5);
    p.assign(llm::DType::f64, std::as_bytes(std::span(values)));
    CHECK(p.format() == llm::DType::f32);
    CHECK_THROWS_AS(p.assign(llm::DType::f32, std::as_bytes(std::span(values))), llm::ShapeError);
  });
  CHECK(model(ids).to_vector() != before);
  CHECK(copy(ids).to_vector() == before);
}

TEMPLATE_TEST_CASE("Elements of a trainable model are rounded once", "", float, double, llm::bf16) {
  auto model = llm::LLM<llama_tiny, llm::Trainable<TestType>>::random(1);
  model.for_each_parameter([](auto& p) {
    const double between = 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -30);  // in bf16 up; twice rounded, by way of float, down
    const std::vector<double> values(static_cast<std::size_t>(p.numel()), between);
    p.assign(llm::DType::f64, std::as_bytes(std::span(values)));
    CHECK(p.tensor().to_vector().back() == TestType(between));
    const std::vector<llm::f16> narrow(static_cast<std::size_t>(p.numel()), llm::f16(0.3f));
    p.assign(llm::DType::f16, std::as_bytes(std::span(narrow)));
    CHECK(p.tensor().to_vector().back() == TestType(float(llm::f16(0.3f))));
  });
}

TEST_CASE("A frozen model that nothing was put into cannot be used") {
  using Frozen = FrozenModel<llama_tiny, llm::Cpu>;
  CHECK_THROWS_WITH(Frozen::uninitialised()(some_ids<Frozen>()), Catch::Contains("empty"));
}

TEST_CASE("A frozen model records nothing, and its loss has no gradient") {
  using Frozen = FrozenModel<modern_tiny, llm::Cpu>;
  const auto model = Frozen::random(1);
  const auto ids = some_ids<Frozen>();
  llm::Tape tape;
  const auto loss = model.loss(ids, ids, {.recompute = true});
  CHECK(tape.size() == 0);
  CHECK_THROWS_AS(tape.backward(loss), llm::Error);
}
