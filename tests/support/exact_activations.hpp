// Products with weights in block formats that leave their activations as they are.
#pragma once

#include <llm/backend/cpu/cpu.hpp>

namespace llm_test {

/// For as long as it lives.
class ExactActivations {
 public:
  ExactActivations() { llm::set_f32_activations(true); }
  ExactActivations(const ExactActivations&) = delete;
  ExactActivations& operator=(const ExactActivations&) = delete;
  ~ExactActivations() { llm::set_f32_activations(before_); }

 private:
  bool before_ = llm::f32_activations();
};

}  // namespace llm_test
