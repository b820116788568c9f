// What tests of whole models on plain loops share: a text, weights that show a wrong gradient, and the check of every parameter's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <llm/autograd/gradient_check.hpp>
#include <llm/core/rng.hpp>
#include <support/catch.hpp>

namespace llm_test {

/// Two rows of six ids below 10.
template <class Model>
typename Model::Ids two_rows() {
  return Model::Ids::from(std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, {2, 6});
}

/// Weights large enough that a wrong gradient shows.
template <class Model>
Model lively() {
  auto model = Model::random(5);
  std::uint64_t stream = 0;
  model.for_each_parameter([&](auto& p) {
    auto values = p.tensor().to_vector();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<typename Model::T>(values[i] + 0.3 * llm::normal_at(9, stream, i));
    p.tensor().assign(values);
    ++stream;
  });
  return model;
}

/// The gradient of the loss of two_rows() in every parameter, against differences. Clears the gradients.
template <class Model>
void check_gradients(Model& model) {
  model.for_each_parameter([&](auto& p) {
    const auto result = llm::check_gradient([&] { return model.loss(two_rows<Model>(), two_rows<Model>()); }, p.tensor());
    INFO(p.name() << ": " << result.where);
    CHECK(result.worst < 1e-8);
  });
  model.for_each_parameter([](auto& p) { p.tensor().clear_grad(); });
}

}  // namespace llm_test
