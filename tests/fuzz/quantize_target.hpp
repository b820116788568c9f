// What the fuzzer and the replay of its corpus do with one input: encode its floats in the format that its first byte chooses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include <llm/core/quant.hpp>
#include <llm/core/quant_encode.hpp>

namespace llm_test {

/// How far a value may be from its encoding, in parts of the block's largest magnitude: half a step of its coarsest group, and what
/// rounding the block's numbers to f16 adds. For the K formats, whose encoder may give up single values for a smaller squared error, one
/// and a half times the most that fuzzing found.
inline double most_lost(llm::DType format) {
  using llm::DType;
  switch (format) {
    case DType::f64:
    case DType::f32:
      return 0;
    case DType::bf16:
      return 0.004;
    case DType::f16:
      return 0.0005;
    case DType::q8_0:
      return 0.0045;
    case DType::q4_0:  // the value of the other sign than the largest may be cut: a whole step
      return 0.13;
    case DType::q4_1:
      return 0.07;
    case DType::q5_0:
      return 0.065;
    case DType::q5_1:
      return 0.036;
    case DType::q2_k:
      return 0.77;
    case DType::q3_k:
      return 0.42;
    case DType::q4_k:
      return 0.2;
    case DType::q5_k:
      return 0.1;
    default:
      return 0.04;
  }
}

/// Ends the program when an encoding that was not refused is far from the values. True when it was not refused.
inline bool fuzz_quantize(std::span<const std::byte> input) try {
  constexpr llm::DType formats[] = {llm::DType::f64,  llm::DType::f32,  llm::DType::bf16, llm::DType::f16,  llm::DType::q8_0,
                                    llm::DType::q4_0, llm::DType::q4_1, llm::DType::q5_0, llm::DType::q5_1, llm::DType::q2_k,
                                    llm::DType::q3_k, llm::DType::q4_k, llm::DType::q5_k, llm::DType::q6_k};
  if (input.empty()) return false;
  const llm::DType format = formats[std::to_integer<std::size_t>(input[0]) % std::size(formats)];
  std::vector<float> x((input.size() - 1) / sizeof(float)), back(x.size());
  if (!x.empty()) std::memcpy(x.data(), input.data() + 1, x.size() * sizeof(float));
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<std::byte> bytes(static_cast<std::size_t>(llm::storage_bytes(format, n)));
  llm::quantize_row(format, x.data(), bytes.data(), n);
  llm::dequantize_row(format, bytes.data(), back.data(), n);
  const auto block = static_cast<std::size_t>(llm::block_format(format).elements);
  for (std::size_t start = 0; start < x.size(); start += block) {
    double largest = 0;
    for (std::size_t i = start; i < start + block; ++i) largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
    constexpr double smallest = 1e-3;  // below it an f16 scale has few bits left
    for (std::size_t i = start; i < start + block; ++i) {
      const double lost = std::fabs(static_cast<double>(x[i]) - static_cast<double>(back[i]));
      if (!(lost <= most_lost(format) * std::max(largest, smallest))) std::abort();
    }
  }
  return true;
} catch (const llm::ShapeError&) {
  return false;
} catch (const llm::NumericError&) {
  return false;
}

}  // namespace llm_test
