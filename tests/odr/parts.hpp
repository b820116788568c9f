// What the files of the program and the shared library give each other.
#pragma once

#include <llm/autograd/tape.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/tensor/tensor.hpp>

#if defined(__GNUC__)
#define LLM_ODR_EXPORT __attribute__((visibility("default")))
#else
#define LLM_ODR_EXPORT
#endif

using Square = llm::Tensor<float, llm::Shape<4, 4>, llm::Cpu>;

Square product_with_threads(const Square& x, const Square& w);
Square product_without_threads(const Square& x, const Square& w);

LLM_ODR_EXPORT Square sum_in_library(const Square& a, const Square& b);
LLM_ODR_EXPORT const llm::Tape* tape_in_library();
LLM_ODR_EXPORT void throw_in_library();
