// Rotary position embedding.
#if defined(LLM_SIMD_WIDTH)

struct Rotations {
  /// The rows [begin, end) of x, counted as b * T + t.
  template <class T>
  LLM_KERNEL static void rope(const RopeArgs& args, const T* x, T* y, bool add, std::int64_t begin, std::int64_t end) {
    const std::int64_t half = args.width / 2;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t b = row / args.T, t = row % args.T;
      const std::int64_t position = (args.starts == nullptr ? args.start : args.starts[b]) + t;
      const float *cosines = args.cos + position * half, *sines = args.sin + position * half;
      for (std::int64_t h = 0; h < args.heads; ++h) {
        const std::int64_t head = (row * args.heads + h) * args.E;
        if (args.interleaved)
          turn_pairs(x + head, y + head, cosines, sines, half, args.inverse ? -1.0f : 1.0f, add);
        else
          turn_halves(x + head, y + head, cosines, sines, half, args.inverse ? -1.0f : 1.0f, add);
        for (std::int64_t e = args.width; e < args.E; e += width) store(y + head + e, load(x + head + e, args.E - e), args.E - e, add);
      }
    }
  }

 private:
  template <class T>
  LLM_SIMD static void turn_halves(const T* x, T* y, const float* cosines, const float* sines, std::int64_t half, float sign, bool add) {
    for (std::int64_t i = 0; i < half; i += width) {
      const std::int64_t left = half - i;
      const vf c = load(cosines + i, left), s = load(sines + i, left) * sign;
      const vf x0 = load(x + i, left), x1 = load(x + half + i, left);
      store(y + i, x0 * c - x1 * s, left, add);
      store(y + half + i, x1 * c + x0 * s, left, add);
    }
  }

#if LLM_SIMD_WIDTH > 1
  template <class T>
  LLM_SIMD static void turn_pairs(const T* x, T* y, const float* cosines, const float* sines, std::int64_t half, float sign, bool add) {
    constexpr auto lanes = std::make_index_sequence<width>{};
    const vf signs = alternating_signs(lanes) * sign;
    for (std::int64_t i = 0; i < half; i += width / 2) {
      const std::int64_t left = half - i;
      const vf c = duplicate_low(load(cosines + i, left), lanes), s = duplicate_low(load(sines + i, left), lanes) * signs;
      const vf v = load(x + 2 * i, 2 * left);
      store(y + 2 * i, v * c + swap_pairs(v, lanes) * s, 2 * left, add);
    }
  }
#else
  template <class T>
  LLM_SIMD static void turn_pairs(const T* x, T* y, const float* cosines, const float* sines, std::int64_t half, float sign, bool add) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float c = cosines[i], s = sines[i] * sign, x0 = load(x + 2 * i), x1 = load(x + 2 * i + 1);
      store(y + 2 * i, x0 * c - x1 * s, 1, add);
      store(y + 2 * i + 1, x1 * c + x0 * s, 1, add);
    }
  }
#endif
};

#endif
