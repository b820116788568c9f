// GGML's block formats put together again: the inverse of the codes() in quant_blocks.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <llm/core/quant_blocks.hpp>

namespace llm::detail {

/// Where the bits of a format's codes stand in a block. In every format each of them is one bit of the block, in Q8_0 the highest one
/// inverted, so codes() itself says where: one bit of a block of zeros is set after the other.
template <class Codes>
class CodeBits {
 public:
  static const CodeBits& of_format() {
    static const CodeBits all;
    return all;
  }

  /// Sets the bits of a block, which are 0, to those of its codes. The header is left alone.
  void join(const Byte* code, Byte* block) const {
    for (int i = 0; i < Codes::elements; ++i) {
      const int set = code[i] ^ of_zeros_[at(i)];
      for (int bit = 0; bit < Codes::bits; ++bit) {
        const int to = places_[at(i * Codes::bits + bit)];
        block[to / 8] = static_cast<Byte>(block[to / 8] | (set >> bit & 1) << to % 8);
      }
    }
  }

 private:
  CodeBits() {
    Byte block[Codes::bytes] = {}, code[Codes::elements];
    Codes::codes(block, of_zeros_.data());
    for (int to = 0; to < 8 * Codes::bytes; ++to) {
      block[to / 8] = static_cast<Byte>(1 << to % 8);
      Codes::codes(block, code);
      block[to / 8] = 0;
      for (int i = 0; i < Codes::elements; ++i)
        for (int bit = 0; bit < Codes::bits; ++bit)
          if ((code[i] ^ of_zeros_[at(i)]) >> bit & 1) places_[at(i * Codes::bits + bit)] = static_cast<std::uint16_t>(to);
    }
  }
  static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::array<Byte, Codes::elements> of_zeros_{};
  std::array<std::uint16_t, std::size_t{Codes::elements} * Codes::bits> places_{};
};

}  // namespace llm::detail
