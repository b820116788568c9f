// Element types: bf16 and f16 storage, the run-time tag DType, and how many bytes a number of elements takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include <llm/core/error.hpp>
#include <llm/detail/platform.hpp>

namespace llm {

namespace detail {
/// std::bit_cast for host and device: nvcc refuses the standard's in device code.
template <class To, class From>
LLM_HOST_DEVICE constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

/// The float next to a double towards zero, its last bit set when that is not exact: rounding the result to fewer bits is then
/// the same as rounding the double, where two roundings to nearest may differ from one.
LLM_HOST_DEVICE constexpr float narrow_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  const auto bits = bit_cast<std::uint32_t>(nearest);
  const bool away = value < 0 ? static_cast<double>(nearest) < value : static_cast<double>(nearest) > value;
  return bit_cast<float>((away ? bits - 1 : bits) | 1u);
}
}  // namespace detail

/// bfloat16 storage: the upper half of a float. Converts from float and double with round to nearest even; arithmetic happens in float.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  LLM_HOST_DEVICE constexpr explicit bf16(float value) : bits(round(value)) {}
  LLM_HOST_DEVICE constexpr explicit bf16(double value) : bf16(detail::narrow_to_odd(value)) {}
  LLM_HOST_DEVICE constexpr operator float() const { return detail::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

 private:
  LLM_HOST_DEVICE static constexpr std::uint16_t round(float value) {
    const auto u = detail::bit_cast<std::uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((u >> 16) | 0x40u);  // keep NaN a NaN
    return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
};

/// IEEE half precision storage, round to nearest even, subnormals kept.
struct f16 {
  std::uint16_t bits = 0;

  f16() = default;
  LLM_HOST_DEVICE constexpr explicit f16(float value) : bits(round(value)) {}
  LLM_HOST_DEVICE constexpr explicit f16(double value) : f16(detail::narrow_to_odd(value)) {}
  LLM_HOST_DEVICE constexpr operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1fu) return detail::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0) return detail::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
    const float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-08f;  // 2^-24
    return sign ? -magnitude : magnitude;
  }

 private:
  LLM_HOST_DEVICE static constexpr std::uint16_t round(float value) {
    const auto u = detail::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000u);
    const std::uint32_t a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (a >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65536 and more, infinity
    if (a < 0x38800000u) {                                                    // subnormal in f16: let float round it
      const float shifted = detail::bit_cast<float>(a) + 0.5f;                // one ulp of [0.5, 1) is 2^-24
      return static_cast<std::uint16_t>(sign | (detail::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t rounded = a + 0xfffu + ((a >> 13) & 1u);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
};

/// How stored elements are encoded, as a run-time tag. Block formats, q*, are GGML's.
enum class DType : std::uint8_t { f64, f32, bf16, f16, i64, i32, u8, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k, q4_k, q5_k, q6_k };

/// Elements of one block and the bytes it takes; plain types have blocks of one element.
struct BlockFormat {
  std::int64_t elements;
  std::int64_t bytes;
};

namespace detail {

struct DTypeFacts {
  std::string_view name;
  BlockFormat format;
};

/// In the order of DType.
inline constexpr DTypeFacts dtype_facts[] = {
    {"f64", {1, 8}},     {"f32", {1, 4}},      {"bf16", {1, 2}},     {"f16", {1, 2}},      {"i64", {1, 8}},     {"i32", {1, 4}},
    {"u8", {1, 1}},      {"q8_0", {32, 34}},   {"q4_0", {32, 18}},   {"q4_1", {32, 20}},   {"q5_0", {32, 22}},  {"q5_1", {32, 24}},
    {"q2_k", {256, 84}}, {"q3_k", {256, 110}}, {"q4_k", {256, 144}}, {"q5_k", {256, 176}}, {"q6_k", {256, 210}}};
inline constexpr std::size_t dtype_count = std::size(dtype_facts);

}  // namespace detail

constexpr BlockFormat block_format(DType type) { return detail::dtype_facts[static_cast<std::size_t>(type)].format; }

constexpr std::string_view to_string(DType type) {
  const auto at = static_cast<std::size_t>(type);
  return at < detail::dtype_count ? detail::dtype_facts[at].name : std::string_view("?");
}

/// Sets `type` to the one of this name ("bf16", "q4_k"); false when there is none.
constexpr bool parse_dtype(std::string_view name, DType& type) {
  for (std::size_t i = 0; i < detail::dtype_count; ++i) {
    if (detail::dtype_facts[i].name != name) continue;
    type = static_cast<DType>(i);
    return true;
  }
  return false;
}

/// Bytes that `count` elements take. Throws ShapeError when the count is negative, not a whole number of blocks, or overflows.
constexpr std::int64_t storage_bytes(DType type, std::int64_t count) {
  const BlockFormat format = block_format(type);
  if (count < 0 || count % format.elements != 0)
    throw ShapeError(detail::concat("llm::storage_bytes: ", count, " elements are not a whole number of ", to_string(type), " blocks of ",
                                    format.elements));
  if (count / format.elements > INT64_MAX / format.bytes)
    throw ShapeError(detail::concat("llm::storage_bytes: ", count, " elements of ", to_string(type), " exceed 2^63 bytes"));
  return count / format.elements * format.bytes;
}

/// The tag of a C++ element type.
template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "llm::dtype_of<T>: T must be double, float, llm::bf16, llm::f16, int64_t, int32_t or uint8_t");
  return DType::u8;
}();
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<bf16> = DType::bf16;
template <>
inline constexpr DType dtype_of<f16> = DType::f16;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;

namespace detail {
template <class T>
struct Compute {
  using type = float;
};
template <>
struct Compute<double> {
  using type = double;
};
}  // namespace detail

/// The type in which arithmetic and statistics happen for elements of type T: double for double, else float.
template <class T>
using compute_t = typename detail::Compute<T>::type;

namespace detail {
template <class T>
inline constexpr bool is_narrow = sizeof(T) < sizeof(compute_t<T>);
}  // namespace detail

/// The type of the gradient of a parameter or tracked input: compute_t<T> where T is narrower, since gradients add up over rows, uses and
/// batches; else T.
template <class T>
using gradient_t = std::conditional_t<detail::is_narrow<T>, compute_t<T>, T>;

}  // namespace llm
