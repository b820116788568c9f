// The tensors that files hold, whatever their format: what a check compares with the expected ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>
#include <llm/io/published_config.hpp>
#include <llm/io/tensor_naming.hpp>

namespace llm {

/// A tensor of a file. Everything here is a view of what the file's reader holds.
struct FoundTensor {
  std::string_view name = {};
  std::string_view dtype = {};  // as the format calls it: "BF16", "Q4_K", "F8_E4M3"
  std::span<const std::int64_t> shape = {};
  std::int64_t size = 0;                  // in bytes
  std::span<const std::byte> bytes = {};  // empty when the library does not read this element type
  std::string_view file = {};
  bool mapped = false;               // bytes are pages of a mapped file, which come back when they are read again
  std::optional<DType> format = {};  // none: the library does not read this element type
};

namespace detail {

/// Elements of a shape that a reader has checked against its file. An empty tensor may have any extents beside the 0.
inline std::int64_t elements_of(std::span<const std::int64_t> shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

inline std::string extents_text(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (const std::int64_t extent : shape) out += concat(out.size() > 1 ? ", " : "", extent);
  return out + "]";
}

/// A name without what stands before all names of its files, if it has that.
constexpr std::string_view without_prefix(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

/// What is wrong with a tensor as weights of which rows of so many elements are taken (0: none), or elements if it is stored transposed;
/// empty when nothing is.
inline std::string fault_as_weights(const FoundTensor& tensor, std::int64_t columns, bool transposed) {
  if (!tensor.format || *tensor.format == DType::i64 || *tensor.format == DType::i32 || *tensor.format == DType::u8)
    return concat("holds ", tensor.dtype, ", which is no element type of weights");
  const std::int64_t block = block_format(*tensor.format).elements;
  if (transposed) return block == 1 ? "" : concat("is stored transposed, in blocks of ", tensor.dtype);
  return columns % block == 0 ? "" : concat("has rows of ", columns, " elements, no whole number of ", tensor.dtype, " blocks");
}

/// Whether two tensors hold the same bytes. Pages of mapped files are let go as they are read: comparing needs no memory.
inline bool equal_bytes(const FoundTensor& a, const FoundTensor& b) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  if (a.bytes.size() != b.bytes.size()) return false;
  bool equal = true;
  for (std::size_t at = 0; equal && at < a.bytes.size(); at += chunk) {
    const std::size_t size = (std::min)(chunk, a.bytes.size() - at);
    equal = std::memcmp(a.bytes.data() + at, b.bytes.data() + at, size) == 0;
    for (const FoundTensor* tensor : {&a, &b})
      if (tensor->mapped) os::release_pages(tensor->bytes.data() + at, size);  // of other memory this would be the end
  }
  return equal;
}

/// Tensors that files of a family carry beside the model: masks and frequencies that older versions of transformers saved, GGUF's tables of
/// frequencies, DeepSeek-V3's module for predicting several tokens and the scales of its fp8 weights, a checkpoint's optimizer state.
inline bool beside_the_model(std::string_view name, const Config& config, Family family, TensorNames names) {
  if (names == TensorNames::library) return name.starts_with("optimizer.");
  if (names == TensorNames::gguf)
    return name == "rope_freqs.weight" || name == "rope_factors_long.weight" || name == "rope_factors_short.weight";
  if (name.ends_with(".rotary_emb.inv_freq")) return true;
  if (family == Family::gpt2) return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  if (family == Family::gpt_neox) return name.ends_with(".attention.bias") || name.ends_with(".attention.masked_bias");
  if (family == Family::deepseek_v3)
    return name.ends_with(".weight_scale_inv") || name.starts_with(concat("model.layers.", config.n_layers, "."));
  return false;
}

}  // namespace detail
}  // namespace llm
