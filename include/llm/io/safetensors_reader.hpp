// Opens safetensors files: names, shapes and bytes of tensors, without copying the data.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/name_order.hpp>
#include <llm/io/safetensors_header.hpp>

namespace llm {

/// A safetensors file, mapped into memory. Everything about its structure is checked by open(); the entries' bytes live as
/// long as this object. Move-only; a const one may be used by many threads.
class SafetensorsFile {
 public:
  using Entry = SafetensorsEntry;

  /// Throws FileError, naming the file, when it cannot be read or breaks the format in any way.
  static SafetensorsFile open(const std::string& path) {
    SafetensorsFile file;
    file.file_ = MappedFile::open(path);
    file.index_ = parse_safetensors(file.file_.bytes(), path, detail::os::release_pages);
    file.by_name_ = detail::order_by_name(file.tensors());
    file.by_unsupported_name_ = detail::order_by_name(file.unsupported());
    return file;
  }

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, std::string>& metadata() const { return index_.metadata; }

  /// All tensors of supported element types, in the order of the data.
  const std::vector<Entry>& tensors() const { return index_.tensors; }
  /// Tensors that the file has in element types the library does not read; only asking for one is an error.
  const std::vector<UnsupportedSafetensorsEntry>& unsupported() const { return index_.unsupported; }

  /// The tensor of this name, or null when the file has none. Throws FileError when its element type is not supported.
  const Entry* find(std::string_view name) const {
    if (const Entry* entry = detail::find_by_name(tensors(), by_name_, name)) return entry;
    if (const auto* other = detail::find_by_name(unsupported(), by_unsupported_name_, name))
      fail(detail::concat("tensor ", detail::in_quotes(name), " has the unsupported dtype ", other->dtype));
    return nullptr;
  }

  /// The shape of the tensor of this name, whatever its element type; null when the file has none.
  const std::vector<std::int64_t>* find_shape(std::string_view name) const {
    if (const Entry* entry = detail::find_by_name(tensors(), by_name_, name)) return &entry->shape;
    const auto* other = detail::find_by_name(unsupported(), by_unsupported_name_, name);
    return other == nullptr ? nullptr : &other->shape;
  }

  /// The tensor of this name. Throws FileError when the file has none, or has it in an unsupported element type.
  const Entry& at(std::string_view name) const {
    const Entry* entry = find(name);
    if (entry == nullptr) fail(detail::concat("has no tensor ", detail::in_quotes(name)));
    return *entry;
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const { detail::safetensors::fail(path(), reason); }

  MappedFile file_;
  SafetensorsIndex index_;
  std::vector<std::size_t> by_name_, by_unsupported_name_;
};

namespace detail {

template <class T>
inline constexpr bool is_floating_element =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bf16> || std::same_as<T, f16>;

template <class T>
inline constexpr bool is_element =
    is_floating_element<T> || std::same_as<T, std::int64_t> || std::same_as<T, std::int32_t> || std::same_as<T, std::uint8_t>;

/// One conversion between element types of the same kind; an integer that does not fit is an error.
template <class To, class From>
To convert_element(const std::string& name, From value) {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (is_floating_element<To>) {
    if constexpr (std::same_as<From, double> || std::same_as<From, float>)
      return static_cast<To>(value);
    else
      return static_cast<To>(static_cast<float>(value));
  } else {
    const auto wide = static_cast<std::int64_t>(value);
    const auto narrow = static_cast<To>(wide);
    if (static_cast<std::int64_t>(narrow) != wide)
      throw ValueError(concat("llm::copy_values: tensor ", name, ": ", wide, " does not fit ", to_string(dtype_of<To>)));
    return narrow;
  }
}

template <class From, class To>
void copy_elements(const SafetensorsEntry& entry, std::vector<To>& out) {
  out.resize(entry.bytes.size() / sizeof(From));
  const std::byte* source = entry.bytes.data();
  for (To& value : out) {
    From element;
    std::memcpy(&element, source, sizeof element);  // the file need not be aligned
    value = convert_element<To>(entry.name, element);
    source += sizeof element;
  }
}

}  // namespace detail

/// The tensor's elements, row-major, as T: F64, F32, BF16 and F16 convert to any floating T, I64, I32 and U8 to any integer
/// T (int64_t, int32_t, uint8_t). Throws ValueError when the tensor is of the other kind or an integer does not fit.
template <class T>
std::vector<T> copy_values(const SafetensorsEntry& entry) {
  std::vector<T> out;
  if constexpr (detail::is_floating_element<T>) {
    if (entry.dtype == DType::f64) return detail::copy_elements<double>(entry, out), out;
    if (entry.dtype == DType::f32) return detail::copy_elements<float>(entry, out), out;
    if (entry.dtype == DType::bf16) return detail::copy_elements<bf16>(entry, out), out;
    if (entry.dtype == DType::f16) return detail::copy_elements<f16>(entry, out), out;
  } else {
    if (entry.dtype == DType::i64) return detail::copy_elements<std::int64_t>(entry, out), out;
    if (entry.dtype == DType::i32) return detail::copy_elements<std::int32_t>(entry, out), out;
    if (entry.dtype == DType::u8) return detail::copy_elements<std::uint8_t>(entry, out), out;
  }
  throw ValueError(detail::concat("llm::copy_values: tensor ", detail::in_quotes(entry.name), " holds ", to_string(entry.dtype),
                                  ", which does not convert to ", to_string(dtype_of<T>)));
}

/// A type that no element can have.
template <class T>
requires(!detail::is_element<T>) std::vector<T> copy_values(const SafetensorsEntry&) {
  static_assert(detail::is_element<T>, "llm::copy_values<T>: T must be float, double, llm::bf16, llm::f16, int64_t, int32_t or uint8_t");
  return {};
}

}  // namespace llm
