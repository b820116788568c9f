// A frozen copy of a model with its matrices in storage formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <llm/core/quant_encode.hpp>
#include <llm/model.hpp>

namespace llm_test {

/// Matrices in format_of(number of the parameter), counted from 0 in their order; vectors in f32.
template <const llm::Config& C, class Backend, class FormatOf>
llm::LLM<C, llm::Frozen, Backend> encoded(const llm::LLM<C, llm::Trainable<float>, Backend>& from, const FormatOf& format_of) {
  std::vector<std::vector<float>> values;
  from.for_each_parameter([&](const auto& p) { values.push_back(p.tensor().to_vector()); });
  auto model = llm::LLM<C, llm::Frozen, Backend>::uninitialised();
  std::size_t at = 0;
  model.for_each_parameter([&](auto& p) {
    const std::vector<float>& floats = values[at];
    const llm::DType format = p.is_matrix() ? format_of(at) : llm::DType::f32;
    ++at;
    std::vector<std::byte> bytes(static_cast<std::size_t>(llm::storage_bytes(format, p.numel())));
    llm::quantize_row(format, floats.data(), bytes.data(), p.numel());
    p.assign(format, bytes);
  });
  return model;
}

}  // namespace llm_test
