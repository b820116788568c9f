// From a model that was trained to one for inference.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include <llm/model/llm.hpp>

namespace llm {

/// A frozen copy of a model, with its matrices in the model's element type; f64 becomes f32.
template <const Config& C, class T, class Backend>
LLM<C, Frozen, Backend> freeze(const LLM<C, Trainable<T>, Backend>& model) {
  auto out = LLM<C, Frozen, Backend>::uninitialised();
  std::vector<typename LLM<C, Trainable<T>, Backend>::ConstView> from;
  model.for_each_parameter([&](const auto& p) { from.push_back(p); });
  std::size_t at = 0;
  out.for_each_parameter([&](auto& p) {
    const std::vector<T> values = from[at++].tensor().to_vector();
    p.assign(dtype_of<T>, std::as_bytes(std::span(values)));
  });
  return out;
}

}  // namespace llm
