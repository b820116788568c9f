// Rows of random weights in any storage format: random bits, with such scales that the values are about as large as standard normal ones.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/rng.hpp>

namespace llm_test {

inline constexpr llm::DType block_formats[] = {llm::DType::q8_0, llm::DType::q4_0, llm::DType::q4_1, llm::DType::q5_0, llm::DType::q5_1,
                                               llm::DType::q2_k, llm::DType::q3_k, llm::DType::q4_k, llm::DType::q5_k, llm::DType::q6_k};
inline constexpr llm::DType plain_formats[] = {llm::DType::f64, llm::DType::f32, llm::DType::bf16, llm::DType::f16};

inline bool is_block_format(llm::DType format) { return llm::block_format(format).elements > 1; }

/// f(format, the smallest number of elements whose multiples make rows: a block, or 32) for every format of weights.
template <class F>
void for_each_format(const F& f) {
  for (const llm::DType format : plain_formats) f(format, std::int64_t{32});
  for (const llm::DType format : block_formats) f(format, llm::block_format(format).elements);
}

/// Where the f16 numbers of a block stand, and how large those are that give values around 1.
struct Halves {
  std::vector<std::size_t> at;
  double size;
};
inline Halves halves(llm::DType format) {
  using llm::DType;
  switch (format) {
    case DType::q8_0:
      return {{0}, 1 / 80.0};
    case DType::q4_0:
      return {{0}, 1 / 5.0};
    case DType::q4_1:
      return {{0, 2}, 1 / 7.0};
    case DType::q5_0:
      return {{0}, 1 / 10.0};
    case DType::q5_1:
      return {{0, 2}, 1 / 14.0};
    case DType::q2_k:
      return {{80, 82}, 1 / 20.0};
    case DType::q3_k:
      return {{108}, 1 / 40.0};
    case DType::q4_k:
      return {{0, 2}, 1 / 300.0};
    case DType::q5_k:
      return {{0, 2}, 1 / 600.0};
    default:
      return {{208}, 1 / 1500.0};  // q6_k
  }
}

/// N rows of K elements.
inline std::vector<std::byte> random_rows(llm::DType format, std::int64_t N, std::int64_t K, std::uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(N * llm::storage_bytes(format, K)));
  llm::Rng rng(seed);
  const auto put = [&](std::size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof(value)); };
  const auto normal = [&] { return std::sqrt(3.0) * (2 * rng.uniform() - 1); };  // its spread, with a bound
  const Halves scales = is_block_format(format) ? halves(format) : Halves{};
  const auto block = static_cast<std::size_t>(llm::block_format(format).bytes);
  if (is_block_format(format))
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    if (format == llm::DType::f64) put(at, normal());
    if (format == llm::DType::f32) put(at, static_cast<float>(normal()));
    if (format == llm::DType::bf16) put(at, llm::bf16(normal()));
    if (format == llm::DType::f16) put(at, llm::f16(normal()));
    for (const std::size_t half : scales.at) put(at + half, llm::f16(normal() * scales.size));
  }
  return bytes;
}

/// Such rows as backend B keeps them.
template <class B>
std::vector<std::byte> kept_rows(llm::DType format, const std::vector<std::byte>& rows, std::int64_t N, std::int64_t K) {
  std::vector<std::byte> kept(static_cast<std::size_t>(B::stored_bytes(format, N, K)));
  B::store_rows(format, rows.data(), kept.data(), N, K);
  return kept;
}

}  // namespace llm_test
