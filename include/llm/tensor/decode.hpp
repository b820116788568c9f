// Fills tensors from elements in a storage format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <llm/core/quant.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm::detail {

/// Overwrites all elements with those of `bytes`, which are in any format that is computed with. Each is rounded once.
/// Throws ShapeError when the number of bytes is not theirs, ValueError for a format of integers.
template <class T, class S, class Backend>
void assign_decoded(Tensor<T, S, Backend>& to, DType format, std::span<const std::byte> bytes) {
  const std::int64_t count = to.numel();
  if (static_cast<std::int64_t>(bytes.size()) != storage_bytes(format, count))
    throw ShapeError(concat("llm: ", bytes.size(), " bytes for ", count, " elements of ", to_string(format), ", which take ",
                            storage_bytes(format, count)));
  if (format == dtype_of<T>) return Backend::memory::copy_from_host(to.data(), bytes.data(), bytes.size());
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr std::int64_t chunk = 1 << 14;  // whole blocks of every format
  const auto size = static_cast<std::size_t>((std::min)(chunk, count));
  std::vector<T> values(size);
  std::vector<Wide> wide(size);
  std::vector<double> widest(format == DType::f64 ? size : 0);
  for (std::int64_t at = 0; at < count; at += chunk) {
    const std::int64_t n = (std::min)(chunk, count - at);
    const std::byte* const from = bytes.data() + storage_bytes(format, at);
    const auto decode = [&](auto& decoded) {
      dequantize_row(format, from, decoded.data(), n);
      std::transform(decoded.begin(), decoded.begin() + n, values.begin(), [](auto value) { return static_cast<T>(value); });
    };
    if (format == DType::f64)
      decode(widest);  // a narrow T is not rounded twice
    else
      decode(wide);
    Backend::memory::copy_from_host(to.data() + at, values.data(), static_cast<std::size_t>(n) * sizeof(T));
  }
}

}  // namespace llm::detail
