// The CPU backend's own layout of weights in block formats: sixteen rows side by side, so that a vector holds values of different rows and
// products need no sums over lanes.
//
// A panel of 16 rows has the bytes of their blocks in another order: first the codes of 32 columns after the other (a tile), then what else
// each block holds. Within a tile the codes are cut into planes of 8, 4, 2 and 1 bits; four columns of a row take four bytes next to each
// other, and the sixteen rows 64 bytes: one quad. A plane of fewer bits holds several quads in different bits of the same bytes:
//   8 bits: quad j in word j      4: words j % 4, from bit j / 4 * 4      2: word j % 2, from bit j / 2 * 2      1: bit j
// The low bits of a code are those of the widest plane. Behind the codes every number of the blocks' headers stands for the 16 rows next to
// each other. The last panel is filled up with rows of zeros; a panel begins at a multiple of 64 bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <llm/backend/cpu/blocks.hpp>
#include <llm/core/quant.hpp>

namespace llm::cpu {

using detail::Byte;

inline constexpr int panel_rows = 16, tile_cols = 32, quads = tile_cols / 4, quad_bytes = 4 * panel_rows;

/// Sizes of the layout of one format.
template <class Codes>
struct Packed {
  static constexpr int tile_bytes = tile_cols * panel_rows * Codes::bits / 8;
  static constexpr int tiles_per_block = Codes::elements / tile_cols;
  static constexpr int header_bytes = panel_rows * Codes::bytes - tiles_per_block * tile_bytes;  // of a block of the 16 rows
  static constexpr int groups_per_tile = tile_cols / Codes::group;
  static constexpr int pairs_at = Codes::bits & 4 ? 4 * quad_bytes : 0;                // the plane of 2 bits, which are bits
  static constexpr int pairs_shift = Codes::bits & 4;                                  // from here on of a code
  static constexpr int single_at = pairs_at + (Codes::bits & 2 ? 2 * quad_bytes : 0);  // the plane of the highest bit

  static constexpr std::int64_t panel_bytes(std::int64_t K) { return round_up(K / Codes::elements * Codes::bytes * panel_rows, 64); }
  static constexpr std::int64_t headers_at(std::int64_t K) { return K / tile_cols * tile_bytes; }
};

/// Bytes of N rows of K elements.
inline std::int64_t packed_bytes(DType format, std::int64_t N, std::int64_t K) {
  const std::int64_t row_bytes = storage_bytes(format, K);
  return block_format(format).elements == 1 ? N * row_bytes : ceil_div(N, panel_rows) * round_up(panel_rows * row_bytes, 64);
}

namespace detail_packed {

/// Puts the codes of 32 columns of a row into a tile, four at a time in one word.
template <class Codes>
void pack_tile(const Byte* code, int row, Byte* tile) {
  using P = Packed<Codes>;
  std::uint32_t quad[quads];
  std::memcpy(quad, code, sizeof(quad));
  const auto put = [&](int at, std::uint32_t word) { std::memcpy(tile + at + 4 * row, &word, 4); };
  // the fields that the mask cuts out of each byte of every step-th quad, side by side
  const auto side_by_side = [&](int first, int step, int shift, std::uint32_t mask) {
    std::uint32_t word = 0;
    for (int j = first, to = 0; j < quads; j += step, to += 8 * step / quads) word |= (quad[j] >> shift & 0x01010101u * mask) << to;
    return word;
  };
  if constexpr (Codes::bits == 8)
    for (int j = 0; j < quads; ++j) put(quad_bytes * j, quad[j]);
  if constexpr (Codes::bits & 4)
    for (int j = 0; j < 4; ++j) put(quad_bytes * j, side_by_side(j, 4, 0, 15));
  if constexpr (Codes::bits & 2)
    for (int j = 0; j < 2; ++j) put(P::pairs_at + quad_bytes * j, side_by_side(j, 2, P::pairs_shift, 3));
  if constexpr (Codes::bits & 1) put(P::single_at, side_by_side(0, 1, Codes::bits - 1, 1));
}

/// Blocks of 32 codes of 4 bits: byte i of their last 16 has codes i and i + 16, as the word of a tile that it is part of has them.
template <class Codes>
inline constexpr bool lies_as_tile = (Codes::elements == tile_cols) && (Codes::bits == 4);

/// Puts such a block into a tile, at a fifteenth of what cutting its codes apart takes.
template <class Codes>
void copy_tile(const Byte* block, int row, Byte* tile) {
  for (int j = 0; j < 4; ++j) std::memcpy(tile + quad_bytes * j + 4 * row, block + Codes::bytes - 16 + 4 * j, 4);
}

/// The code at column i of quad j.
template <class Codes>
Byte code_at(const Byte* tile, int j, int row, int i) {
  using P = Packed<Codes>;
  const Byte* const at = tile + 4 * row + i;
  int code = 0;
  if constexpr (Codes::bits == 8) code = at[quad_bytes * j];
  if constexpr (Codes::bits & 4) code = at[quad_bytes * (j % 4)] >> j / 4 * 4 & 15;
  if constexpr (Codes::bits & 2) code |= (at[P::pairs_at + quad_bytes * (j % 2)] >> j / 2 * 2 & 3) << P::pairs_shift;
  if constexpr (Codes::bits & 1) code |= (at[P::single_at] >> j & 1) << (Codes::bits - 1);
  return static_cast<Byte>(code);
}

/// f(offset in a block, offset in the header of 16 rows for row 0, bytes) for each number of a header.
template <class Codes, class F>
void for_header(const F& f) {
  int to = 0;
  for (const detail::HeaderPart& part : Codes::header)
    for (int i = 0; i < part.count; ++i, to += panel_rows * part.size) f(part.at + i * part.size, to, part.size);
}

/// One row of GGML's blocks into a panel of zeros.
template <class Codes>
void pack_row(const Byte* blocks, std::int64_t K, int row, Byte* panel) {
  using P = Packed<Codes>;
  Byte* const headers = panel + P::headers_at(K);
  for (std::int64_t b = 0; b < K / Codes::elements; ++b, blocks += Codes::bytes) {
    if constexpr (lies_as_tile<Codes>) {
      copy_tile<Codes>(blocks, row, panel + b * P::tile_bytes);
    } else {
      Byte code[Codes::elements];
      Codes::codes(blocks, code);
      for (int t = 0; t < P::tiles_per_block; ++t)
        pack_tile<Codes>(code + tile_cols * t, row, panel + (b * P::tiles_per_block + t) * P::tile_bytes);
    }
    for_header<Codes>([&](int from, int to, int size) {
      std::memcpy(headers + b * P::header_bytes + to + row * size, blocks + from, static_cast<std::size_t>(size));
    });
  }
}

}  // namespace detail_packed

/// Takes block b of a row of a panel apart again: its header as it was, the rest of the block left alone, and its codes.
template <class Codes>
void unpack_block(const Byte* panel, std::int64_t K, std::int64_t b, int row, Byte* block, Byte* code) {
  using P = Packed<Codes>;
  const Byte* const header = panel + P::headers_at(K) + b * P::header_bytes;
  detail_packed::for_header<Codes>(
      [&](int to, int from, int size) { std::memcpy(block + to, header + from + row * size, static_cast<std::size_t>(size)); });
  for (int i = 0; i < Codes::elements; ++i)
    code[i] = detail_packed::code_at<Codes>(panel + (b * P::tiles_per_block + i / tile_cols) * P::tile_bytes, i / 4 % quads, row, i % 4);
}

/// Packs N rows of K elements in GGML's layout. Plain formats stay as they are. A template (Bytes is std::byte), like all that compiles
/// something for each format: programs without stored weights do not pay for it.
template <class Bytes>
void pack_rows(DType format, const Bytes* rows, std::byte* to, std::int64_t N, std::int64_t K) {
  const std::int64_t row_bytes = storage_bytes(format, K);
  const bool blocks = detail::with_codes(format, [&](auto codes) {
    using Codes = decltype(codes);
    const std::int64_t panel_bytes = Packed<Codes>::panel_bytes(K);
    std::memset(to, 0, static_cast<std::size_t>(packed_bytes(format, N, K)));
    for (std::int64_t n = 0; n < N; ++n)
      detail_packed::pack_row<Codes>(reinterpret_cast<const Byte*>(rows) + n * row_bytes, K, static_cast<int>(n % panel_rows),
                                     reinterpret_cast<Byte*>(to) + n / panel_rows * panel_bytes);
  });
  if (!blocks && N * K > 0) std::memcpy(to, rows, static_cast<std::size_t>(N * row_bytes));
}

/// Decodes columns [k, k + n) of row `row` of packed weights [.., K]; k and n are whole blocks.
template <class Out>
void load_packed_row(DType format, const std::byte* packed, std::int64_t row, std::int64_t K, std::int64_t k, std::int64_t n, Out* out) {
  const bool blocks = detail::with_codes(format, [&](auto codes) {
    using Codes = decltype(codes);
    const Byte* const panel = reinterpret_cast<const Byte*>(packed) + row / panel_rows * Packed<Codes>::panel_bytes(K);
    for (std::int64_t b = k / Codes::elements; b < (k + n) / Codes::elements; ++b, out += Codes::elements) {
      Byte block[Codes::bytes] = {}, code[Codes::elements];
      unpack_block<Codes>(panel, K, b, static_cast<int>(row % panel_rows), block, code);
      detail::decode_block<Codes>(block, code, out);
    }
  });
  if (!blocks) dequantize_row(format, packed + row * storage_bytes(format, K) + storage_bytes(format, k), out, n);
}

}  // namespace llm::cpu
