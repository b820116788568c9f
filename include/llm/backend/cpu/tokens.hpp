// Kernels over tokens: rows of a table by id, rotary embedding, appending to a KV cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/elementwise.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/stored.hpp>
#include <llm/core/dtype.hpp>

namespace llm::cpu {

template <class T, class Index>
void embedding_forward(const Index* ids, const T* table, T* y, std::int64_t n, std::int64_t D) {
  parallel_blocks(n, rows_per_block(D), D, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      std::memcpy(static_cast<void*>(y + i * D), table + ids[i] * D, static_cast<std::size_t>(D) * sizeof(T));
  });
}

/// Rows of a table in a storage format, decoded.
template <class T, class Index>
void embedding_forward_stored(const Index* ids, DType format, const void* table, T* y, std::int64_t n, std::int64_t D) {
  parallel_blocks(n, 8, 4 * D, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) load_stored_row(format, static_cast<const std::byte*>(table), ids[i], D, 0, D, y + i * D);
  });
}

/// Each task owns some columns of the table, so that the rows of one id are added in their order.
template <class T, class Index>
void embedding_backward(const Index* ids, const T* dy, compute_t<T>* dtable, std::int64_t n, std::int64_t /*V*/, std::int64_t D) {
  constexpr std::int64_t some_cols = 64;
  parallel_blocks(D, some_cols, n, [&](std::int64_t begin, std::int64_t end) {
    with_kernels<T>([&](auto kernels) {
      for (std::int64_t i = 0; i < n; ++i)
        kernels.template accumulate<compute_t<T>, T>(dtable + ids[i] * D + begin, dy + i * D + begin, end - begin);
    });
  });
}

template <class T>
void rope(const RopeArgs& args, const T* x, T* y, bool add) {
  if constexpr (std::is_same_v<T, double>) {
    reference::rope(args, x, y, add);
  } else {
    const std::int64_t row = args.heads * args.E;
    parallel_blocks(args.B * args.T, rows_per_block(row), 2 * row, [&](std::int64_t begin, std::int64_t end) {
      with_vectors([&](auto kernels) { kernels.template rope<T>(args, x, y, add, begin, end); });
    });
  }
}

template <class T, class KV>
void cache_append(const T* rows, KV* cache, std::int64_t B, std::int64_t T_new, std::int64_t width, std::int64_t batch_stride,
                  const std::int64_t* starts) {
  parallel_blocks(B * T_new, rows_per_block(width), width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t b = row / T_new, position = (starts == nullptr ? 0 : starts[b]) + row % T_new;
      convert_some(cache + b * batch_stride + position * width, rows + row * width, width);
    }
  });
}

}  // namespace llm::cpu
