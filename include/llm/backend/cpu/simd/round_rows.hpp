// Activations rounded to bytes in blocks of 32 (cpu/rounded_rows.hpp).
#if defined(LLM_SIMD_WIDTH) && LLM_SIMD_WIDTH >= 8

/// How rows of activations are rounded.
struct RoundRows {
  /// One row of K floats into the first row of `to`.
  template <class Codes>
  LLM_KERNEL static void round_row(const float* x, int zero, RoundedRows to) {
    constexpr int group = Codes::group, groups = tile_cols / group, parts = group / width;
    for (std::int64_t t = 0; t < to.K / tile_cols; ++t, x += tile_cols) {
      const float scale = scale_of_block(x, std::make_index_sequence<tile_cols / width>{});
      to.scale[t] = scale;
      const vf inverse = splat(scale == 0 ? 0.0f : 1.0f / scale), magic = splat(0x1.8p23f);
      for (int g = 0; g < groups; ++g) {
        vf sum = {};
        for (int i = g * parts; i < (g + 1) * parts; ++i) {
          const vf shifted = multiply_add(load(x + i * width), inverse, magic);  // its low bits are the rounded value
          sum += shifted - magic;
          store_low_bytes(to.code + t * tile_cols + i * width, as_int(shifted));
        }
        const float total = horizontal_sum(sum);
        const float first = Codes::has_offset ? scale * total : 0.0f;
        std::int32_t& start = to.start[t * groups + g];
        if constexpr (Codes::has_offset)
          __builtin_memcpy(&start, &first, sizeof(start));
        else
          start = static_cast<std::int32_t>(total == total ? total : 0.0f) * -zero;
      }
    }
  }

 private:
  template <std::size_t... I>
  LLM_SIMD static float scale_of_block(const float* x, std::index_sequence<I...>) {
    vf largest = {}, not_finite = {};
    ((largest = larger(largest, absolute(load(x + I * width))), not_finite += load(x + I * width) * 0.0f), ...);
    const float magnitude = horizontal_max(largest), nan = horizontal_sum(not_finite);
    return (magnitude < 1e-36f ? 0.0f : magnitude * (1 / 127.0f)) + nan;
  }
  LLM_SIMD static vf absolute(vf v) { return as_float(as_int(v) & splat_int(0x7fffffff)); }
  LLM_SIMD static void store_low_bytes(std::int8_t* p, vi v) {
    typedef std::int8_t bytes __attribute__((vector_size(LLM_SIMD_WIDTH), aligned(1), may_alias));
#if LLM_SIMD_WIDTH == 16
    __asm__("vpmovdb %1, %0" : "=m"(*reinterpret_cast<bytes*>(p)) : "v"(v));
#else
    *reinterpret_cast<bytes*>(p) = __builtin_convertvector(v, bytes);
#endif
  }
};

#elif defined(LLM_SIMD_WIDTH)

struct RoundRows {
  template <class Codes>
  static void round_row(const float* x, int zero, RoundedRows to) {
    constexpr int groups = tile_cols / Codes::group;
    for (std::int64_t t = 0; t < to.K / tile_cols; ++t, x += tile_cols) {
      float largest = 0, not_finite = 0;
      for (int i = 0; i < tile_cols; ++i) {
        largest = std::fabs(x[i]) > largest ? std::fabs(x[i]) : largest;
        not_finite += x[i] * 0.0f;
      }
      const float scale = (largest < 1e-36f ? 0.0f : largest * (1 / 127.0f)) + not_finite, inverse = scale == 0 ? 0.0f : 1.0f / scale;
      to.scale[t] = scale;
      for (int g = 0; g < groups; ++g) {
        float sum = 0;
        for (int i = g * Codes::group; i < (g + 1) * Codes::group; ++i) {
          // Its low bits are the value rounded (to double, then float), as where products and sums are one instruction.
          const auto shifted = static_cast<float>(static_cast<double>(x[i]) * static_cast<double>(inverse) + 0x1.8p23);
          sum += shifted - 0x1.8p23f;
          to.code[t * tile_cols + i] = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(shifted) & 255);
        }
        to.start[t * groups + g] =
            Codes::has_offset ? std::bit_cast<std::int32_t>(scale * sum) : static_cast<std::int32_t>(sum == sum ? sum : 0.0f) * -zero;
      }
    }
  }
};

#endif
