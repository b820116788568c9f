// Products of rounded activations with packed weights. Every result is added up in one order, whatever the kernel and the number of rows:
// the integers of a group of columns, which are exact, times the weights' scale, and that times the activations' scale on top of the sum
// before; then the offset times the activations' sum, where the format has one.
#if defined(LLM_SIMD_WIDTH) && LLM_SIMD_WIDTH >= 8

/// Weights of two vectors of rows, one code a byte: vector v of quad j stands at codes + v * codes_apart + j * quad_bytes, that of group g
/// of the scales at scales + v * scales_apart + g * panel_rows.
struct PlainCodes {
  const Byte* codes;
  const float *scales, *offsets;
  std::int64_t codes_apart, scales_apart;
};

template <class Dot>
struct RoundedProduct : RoundRows {
  template <class Codes>
  static constexpr bool keeps_signs = Dot::signed_codes&& Codes::bits == 8;
  /// From where codes count in products.
  template <class Codes>
  static constexpr int zero = keeps_signs<Codes> ? 0 : Codes::zero;

  static constexpr int vectors = 2;                       // of results, side by side
  static constexpr int panels = vectors / panel_vectors;  // that these take
  static constexpr int single_rows = 4;                   // measured: see RoundedKernels
  static constexpr int most_rows = LLM_SIMD_WIDTH == 16 ? 6 : 2;

  /// One row of activations by one panel: y[16]. Panels follow up to `end`: nothing beyond is fetched, since to look for memory that does
  /// not exist takes as long as to read some.
  template <class Codes>
  LLM_KERNEL static void row_by_panel(const RoundedRows& x, const Byte* panel, [[maybe_unused]] const Byte* end, float* y) {
    using P = Packed<Codes>;
    constexpr std::int64_t distance = 8192;
    vf sums[panel_vectors] = {};
    const Byte* header = panel + P::headers_at(x.K);
    const std::int32_t* start = x.start;
    for (std::int64_t t = 0; t < x.K / tile_cols; header += P::header_bytes)
      for (int in_block = 0; in_block < P::tiles_per_block; ++in_block, ++t, panel += P::tile_bytes, start += P::groups_per_tile) {
        if (end - panel > distance + P::tile_bytes)
          for (int line = 0; line < P::tile_bytes; line += 64) prefetch(panel, distance + line);
        tile<Codes, 0>(sums[0], panel, header, in_block, x.code + t * tile_cols, x.scale[t], start);
        if constexpr (panel_vectors == 2)
          tile<Codes, width>(sums[1], panel + 4 * width, header, in_block, x.code + t * tile_cols, x.scale[t], start);
      }
    for (int v = 0; v < panel_vectors; ++v) store(y + v * width, sums[v]);
  }

  /// Takes a panel apart: the codes of quad j as 64 bytes, the scales of group g as 16 floats each.
  template <class Codes>
  LLM_KERNEL static void expand(const Byte* panel, const ExpandedPanels& to) {
    using P = Packed<Codes>;
    const std::int64_t K = to.K;
    Byte* codes = to.codes;
    float *const scales = to.scales, *const offsets = to.offsets;
    const Byte* header = panel + P::headers_at(K);
    for (std::int64_t t = 0; t < K / tile_cols; header += P::header_bytes)
      for (int in_block = 0; in_block < P::tiles_per_block; ++in_block, ++t, panel += P::tile_bytes, codes += quads * quad_bytes)
        for (int row = 0; row < panel_rows; row += width) {
          expand_quads<Codes>(panel + 4 * row, codes + 4 * row, std::make_index_sequence<quads>{});
          for (int g = 0; g < P::groups_per_tile; ++g) {
            const GroupScale s = scale_of(Codes{}, header, in_block * P::groups_per_tile + g, row);
            store(scales + (t * P::groups_per_tile + g) * panel_rows + row, s.scale);
            if constexpr (Codes::has_offset) store(offsets + (t * P::groups_per_tile + g) * panel_rows + row, s.offset);
          }
        }
  }

  /// y[m, 0 .. 2 * width) for M rows of activations. Codes is a CodeKind: what else the format was does not matter any more.
  template <class Codes>
  LLM_KERNEL static void rows_by_codes(std::int64_t M, const RoundedRows& x, const ExpandedPanels& panel, float* y) {
    const PlainCodes w{panel.codes, panel.scales, panel.offsets, panels == 2 ? panel.codes_apart() : 4 * width,
                       panels == 2 ? panel.scales_apart() : width};
    std::int64_t m = 0;
    for (; M - m >= most_rows; m += most_rows) some_rows<Codes, most_rows>(most_rows, x.from(m), w, y + m * vectors * width);
    for (; m < M; m += 2) some_rows<Codes, 2>((std::min)(std::int64_t{2}, M - m), x.from(m), w, y + m * vectors * width);
  }

 private:
  template <class Codes>
  LLM_SIMD static void add_group(vf& sum, vi products, vf scale, vf offset, float x_scale, const std::int32_t* start) {
    sum = multiply_add(to_floats(products) * scale, splat(x_scale), sum);
    if constexpr (Codes::has_offset) sum = multiply_add(offset, splat_from(reinterpret_cast<const float*>(start)), sum);
  }
  template <class Codes>
  LLM_SIMD static vi first_products([[maybe_unused]] const std::int32_t* start) {
    if constexpr (Codes::has_offset || zero<Codes> == 0)
      return vi{};
    else
      return splat_int(*start);
  }

  /// All groups of a tile, by one row of activations.
  template <class Codes, int Row>
  LLM_SIMD static void tile(vf& sum, const Byte* codes, const Byte* header, int in_block, const std::int8_t* x, float x_scale,
                            const std::int32_t* start) {
    constexpr int groups = Packed<Codes>::groups_per_tile;
    constexpr auto quads_of_group = std::make_index_sequence<quads / groups>{};
    group<Codes, 0>(sum, codes, scale_of(Codes{}, header, in_block * groups, Row), x, x_scale, start, quads_of_group);
    if constexpr (groups == 2)
      group<Codes, quads / 2>(sum, codes, scale_of(Codes{}, header, in_block * groups + 1, Row), x, x_scale, start + 1, quads_of_group);
  }
  template <class Codes, int First, std::size_t... J>
  LLM_SIMD static void group(vf& sum, const Byte* codes, GroupScale s, const std::int8_t* x, float x_scale, const std::int32_t* start,
                             std::index_sequence<J...>) {
    vi products = first_products<Codes>(start), open = {};
    (Dot::template add_quad<Codes::bits, static_cast<int>(J), static_cast<int>(sizeof...(J))>(
         products, open, quad_of<Codes, keeps_signs<Codes>, First + static_cast<int>(J)>(codes),
         splat_four_bytes(x + 4 * (First + static_cast<int>(J)))),
     ...);
    add_group<Codes>(sum, products, s.scale, s.offset, x_scale, start);
  }
  template <class Codes, std::size_t... J>
  LLM_SIMD static void expand_quads(const Byte* tile, Byte* codes, std::index_sequence<J...>) {
    (store_words(codes + quad_bytes * J, quad_of<Codes, keeps_signs<Codes>, static_cast<int>(J)>(tile)), ...);
  }

  /// Rows of activations by two vectors of rows of weights; `rows` of them are wanted, the others repeat the last one.
  template <class Codes, int Rows>
  LLM_SIMD static void some_rows(std::int64_t rows, const RoundedRows& x, const PlainCodes& w, float* y) {
    constexpr std::int64_t group = Codes::group;
    constexpr auto all_rows = std::make_index_sequence<Rows>{};
    const std::int8_t* code[Rows];
    std::int64_t scale_at[Rows], start_at[Rows];
    for (int i = 0; i < Rows; ++i) {
      const std::int64_t m = (std::min)(std::int64_t{i}, rows - 1);
      code[i] = x.code + m * x.K;
      scale_at[i] = m * (x.K / tile_cols);
      start_at[i] = m * (x.K / group);
    }
    vf sums[Rows][vectors] = {};
    const Byte* codes = w.codes;
    for (std::int64_t g = 0; g < x.K / group; ++g, codes += group / 4 * quad_bytes) {
      vi products[Rows][vectors];
      begin_rows<Codes>(products, x.start + g, start_at, all_rows);
      add_quads<Codes, Rows>(products, codes, w.codes_apart, code, 4 * (g * (group / 4)), std::make_index_sequence<group / 4>{});
      const vf scale[vectors] = {load(w.scales + g * panel_rows), load(w.scales + w.scales_apart + g * panel_rows)};
      vf offset[vectors] = {};
      if constexpr (Codes::has_offset) {
        offset[0] = load(w.offsets + g * panel_rows);
        offset[1] = load(w.offsets + w.scales_apart + g * panel_rows);
      }
      finish_rows<Codes>(sums, products, scale, offset, x.scale + g * group / tile_cols, scale_at, x.start + g, start_at, all_rows);
    }
    store_rows(sums, rows, y, all_rows);
  }
  template <class Codes, int Rows, std::size_t... I>
  LLM_SIMD static void begin_rows(vi (&products)[Rows][vectors], const std::int32_t* start, const std::int64_t (&at)[Rows],
                                  std::index_sequence<I...>) {
    ((products[I][0] = products[I][1] = first_products<Codes>(start + at[I])), ...);
  }
  template <class Codes, int Rows, std::size_t... J>
  LLM_SIMD static void add_quads(vi (&products)[Rows][vectors], const Byte* codes, std::int64_t apart, const std::int8_t* const (&x)[Rows],
                                 std::int64_t k, std::index_sequence<J...>) {
    (add_quad<Codes>(products, load_words(codes + quad_bytes * J), load_words(codes + apart + quad_bytes * J), x,
                     k + 4 * static_cast<std::int64_t>(J), std::make_index_sequence<Rows>{}),
     ...);
  }
  template <class Codes, int Rows, std::size_t... I>
  LLM_SIMD static void add_quad(vi (&products)[Rows][vectors], vu first, vu second, const std::int8_t* const (&x)[Rows], std::int64_t k,
                                std::index_sequence<I...>) {
    (add_row<Codes>(products[I], first, second, splat_four_bytes(x[I] + k)), ...);
  }
  template <class Codes>
  LLM_SIMD static void add_row(vi (&products)[vectors], vu first, vu second, vi x) {
    products[0] = Dot::template add<Codes::bits>(products[0], first, x);
    products[1] = Dot::template add<Codes::bits>(products[1], second, x);
  }
  template <class Codes, int Rows, std::size_t... I>
  LLM_SIMD static void finish_rows(vf (&sums)[Rows][vectors], const vi (&products)[Rows][vectors], const vf (&scale)[vectors],
                                   const vf (&offset)[vectors], const float* x_scale, const std::int64_t (&scale_at)[Rows],
                                   const std::int32_t* start, const std::int64_t (&start_at)[Rows], std::index_sequence<I...>) {
    (finish_row<Codes>(sums[I], products[I], scale, offset, x_scale[scale_at[I]], start + start_at[I]), ...);
  }
  template <class Codes>
  LLM_SIMD static void finish_row(vf (&sums)[vectors], const vi (&products)[vectors], const vf (&scale)[vectors],
                                  const vf (&offset)[vectors], float x_scale, const std::int32_t* start) {
    add_group<Codes>(sums[0], products[0], scale[0], offset[0], x_scale, start);
    add_group<Codes>(sums[1], products[1], scale[1], offset[1], x_scale, start);
  }
  template <int Rows, std::size_t... I>
  LLM_SIMD static void store_rows(const vf (&sums)[Rows][vectors], std::int64_t rows, float* y, std::index_sequence<I...>) {
    (store_row(sums[I], static_cast<std::int64_t>(I) < rows, y + I * vectors * width), ...);
  }
  LLM_SIMD static void store_row(const vf (&sums)[vectors], bool wanted, float* y) {
    if (!wanted) return;
    store(y, sums[0]);
    store(y + width, sums[1]);
  }
};

#elif defined(LLM_SIMD_WIDTH)

/// The same in plain loops, of which compilers make what vectors there are.
struct RoundedProduct : RoundRows {
  template <class Codes>
  static constexpr int zero = Codes::zero;
  static constexpr int panels = 1;
  static constexpr int single_rows = 1;
  template <class Codes>
  static void row_by_panel(const RoundedRows& x, const Byte* panel, const Byte*, float* y) {
    constexpr std::int64_t elements = Codes::elements, groups = elements / Codes::group;
    for (int row = 0; row < panel_rows; ++row) y[row] = 0;
    for (std::int64_t b = 0; b < x.K / elements; ++b) {
      Byte codes[elements * panel_rows];
      float scales[groups * panel_rows], offsets[groups * panel_rows];
      expand_block<Codes>(panel, x.K, b, codes, scales, offsets);
      for (std::int64_t g = 0; g < groups; ++g)
        add_group<Codes>(x, b * groups + g, codes + g * Codes::group * panel_rows, scales + g * panel_rows, offsets + g * panel_rows, y);
    }
  }

  template <class Codes>
  static void expand(const Byte* panel, const ExpandedPanels& to) {
    constexpr std::int64_t groups = Codes::elements / Codes::group;
    for (std::int64_t b = 0; b < to.K / Codes::elements; ++b)
      expand_block<Codes>(panel, to.K, b, to.codes + b * Codes::elements * panel_rows, to.scales + b * groups * panel_rows,
                          to.offsets + b * groups * panel_rows);
  }

  template <class Codes>
  static void rows_by_codes(std::int64_t M, const RoundedRows& x, const ExpandedPanels& w, float* y) {
    for (std::int64_t m = 0; m < M; ++m, y += panel_rows) {
      for (int row = 0; row < panel_rows; ++row) y[row] = 0;
      for (std::int64_t g = 0; g < x.K / Codes::group; ++g)
        add_group<Codes>(x.from(m), g, w.codes + g * Codes::group * panel_rows, w.scales + g * panel_rows, w.offsets + g * panel_rows, y);
    }
  }

 private:
  template <class Codes>
  static void add_group(const RoundedRows& x, std::int64_t g, const Byte* codes, const float* scales, const float* offsets, float* y) {
    std::int32_t products[panel_rows] = {};
    if constexpr (!Codes::has_offset)
      for (std::int32_t& product : products) product = x.start[g];
    for (int k = 0; k < Codes::group; k += 4, codes += quad_bytes)
      for (int row = 0; row < panel_rows; ++row)
        for (int i = 0; i < 4; ++i) products[row] += codes[4 * row + i] * x.code[g * Codes::group + k + i];
    const float x_scale = x.scale[g * Codes::group / tile_cols];
    for (int row = 0; row < panel_rows; ++row) y[row] += static_cast<float>(products[row]) * scales[row] * x_scale;
    if constexpr (Codes::has_offset)
      for (int row = 0; row < panel_rows; ++row) y[row] += offsets[row] * std::bit_cast<float>(x.start[g]);
  }

  /// Block b of the 16 rows of a panel: codes of quads, scales and offsets of groups.
  template <class Codes>
  static void expand_block(const Byte* panel, std::int64_t K, std::int64_t b, Byte* codes, float* scales, [[maybe_unused]] float* offsets) {
    constexpr int groups = Codes::elements / Codes::group;
    for (int row = 0; row < panel_rows; ++row) {
      Byte block[Codes::bytes] = {}, code[Codes::elements];
      float scale[groups], offset[groups];
      unpack_block<Codes>(panel, K, b, row, block, code);
      Codes::scales(block, scale, offset);
      for (int k = 0; k < Codes::elements; k += 4) std::memcpy(codes + k / 4 * quad_bytes + 4 * row, code + k, 4);
      for (int g = 0; g < groups; ++g) {
        scales[g * panel_rows + row] = scale[g];
        if constexpr (Codes::has_offset) offsets[g * panel_rows + row] = offset[g];
      }
    }
  }
};

#endif
