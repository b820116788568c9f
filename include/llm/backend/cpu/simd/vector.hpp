// The vector of one instruction set. Like every file of this folder it is included once for each of them, by isa_*.hpp, inside a
// namespace of its own, and is empty otherwise. LLM_SIMD marks a helper and LLM_KERNEL a function that other code calls: both carry the
// target attribute. LLM_SIMD_WIDTH is the number of floats in a register; 1 is plain scalar code for compilers without vector types.
#if defined(LLM_SIMD_WIDTH)

inline constexpr int width = LLM_SIMD_WIDTH;

#if LLM_SIMD_WIDTH > 1

typedef float vf __attribute__((vector_size(LLM_SIMD_WIDTH * 4)));
typedef std::int32_t vi __attribute__((vector_size(LLM_SIMD_WIDTH * 4)));
typedef std::uint32_t vu __attribute__((vector_size(LLM_SIMD_WIDTH * 4)));
typedef std::uint16_t vh __attribute__((vector_size(LLM_SIMD_WIDTH * 2)));
typedef float float_anywhere __attribute__((aligned(2), may_alias));
typedef float vf_anywhere __attribute__((vector_size(LLM_SIMD_WIDTH * 4), aligned(4), may_alias));
typedef std::uint16_t vh_anywhere __attribute__((vector_size(LLM_SIMD_WIDTH * 2), aligned(2), may_alias));

LLM_SIMD vf splat(float x) { return x - vf{}; }
LLM_SIMD vi splat_int(std::int32_t x) { return x - vi{}; }
LLM_SIMD vf as_float(vi v) { return (vf)v; }
LLM_SIMD vi as_int(vf v) { return (vi)v; }
LLM_SIMD vi both(vi a, vi b) { return a & b; }

LLM_SIMD vf load(const float* p) { return *reinterpret_cast<const vf_anywhere*>(p); }
/// A vector of one number, or of the bits of two bf16 numbers that lie at p.
LLM_SIMD vf splat_from(const float* p) { return splat(*reinterpret_cast<const float_anywhere*>(p)); }
LLM_SIMD void store(float* p, vf v) { *reinterpret_cast<vf_anywhere*>(p) = v; }

// Widening loads: one instruction on x86, for which g++ 12 makes half a dozen out of __builtin_convertvector.
LLM_SIMD vf load(const bf16* p) {
#if defined(LLM_SIMD_X86)
  vu wide;
  __asm__("vpmovzxwd %1, %0" : "=v"(wide) : "m"(*reinterpret_cast<const vh_anywhere*>(p)));
#else
  const vu wide = __builtin_convertvector(*reinterpret_cast<const vh_anywhere*>(p), vu);
#endif
  return (vf)(wide << 16);
}
LLM_SIMD vf load(const f16* p) {
#if defined(LLM_SIMD_X86)
  vf wide;
  __asm__("vcvtph2ps %1, %0" : "=v"(wide) : "m"(*reinterpret_cast<const vh_anywhere*>(p)));
  return wide;
#else
  const vu half = __builtin_convertvector(*reinterpret_cast<const vh_anywhere*>(p), vu);
  const vu infinite = (vu)((half & 0x7c00u) == 0x7c00u) & 0x7f800000u;
  const vu magnitude = (vu)((vf)((half & 0x7fffu) << 13) * 0x1p112f);  // the exponent's bias is 127 here, 15 there
  return (vf)(magnitude | infinite | (half & 0x8000u) << 16);
#endif
}
#if LLM_SIMD_WIDTH == 16
template <std::size_t... I>
LLM_SIMD vh upper_halves(vu v, std::index_sequence<I...>) {
  typedef std::uint16_t halves __attribute__((vector_size(LLM_SIMD_WIDTH * 4)));
  return __builtin_shufflevector((halves)v, (halves)v, (2 * static_cast<int>(I) + 1)...);  // one instruction, also of g++ 12
}
LLM_SIMD vh upper_halves(vu v) { return upper_halves(v, std::make_index_sequence<width>{}); }
#else
LLM_SIMD vh upper_halves(vu v) { return __builtin_convertvector(v >> 16, vh); }
#endif
LLM_SIMD vh to_bf16(vf v) {  // round to nearest even, NaN stays NaN
  const vu u = (vu)v, rounded = u + 0x7fffu + ((u >> 16) & 1u);
  return upper_halves(v != v ? u | 0x400000u : rounded);
}
LLM_SIMD void store(bf16* p, vf v) { *reinterpret_cast<vh_anywhere*>(p) = to_bf16(v); }
LLM_SIMD vf rounded_to(const bf16*, vf v) { return (vf)(__builtin_convertvector(to_bf16(v), vu) << 16); }

/// a where the condition a > b (or a < b) holds, else b: NaN in a gives b.
#if defined(LLM_SIMD_X86)
LLM_SIMD vf larger(vf a, vf b) {  // one instruction, where g++ 12 compares and blends
  vf result;
  __asm__("vmaxps %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));
  return result;
}
LLM_SIMD vf smaller(vf a, vf b) {
  vf result;
  __asm__("vminps %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));
  return result;
}
#else
LLM_SIMD vf larger(vf a, vf b) { return a > b ? a : b; }
LLM_SIMD vf smaller(vf a, vf b) { return a < b ? a : b; }
#endif
LLM_SIMD vf if_negative(vf x, vf then, vf otherwise) { return x < 0.0f ? then : otherwise; }

template <int By, std::size_t... I>
LLM_SIMD vf rotate(vf v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, ((static_cast<int>(I) + By) % width)...);
}
template <int By = width / 2>
LLM_SIMD float horizontal_sum(vf v) {
  if constexpr (By == 0)
    return v[0];
  else
    return horizontal_sum<By / 2>(v + rotate<By>(v, std::make_index_sequence<width>{}));
}
template <int By = width / 2>
LLM_SIMD float horizontal_max(vf v) {
  if constexpr (By == 0)
    return v[0];
  else
    return horizontal_max<By / 2>(larger(v, rotate<By>(v, std::make_index_sequence<width>{})));
}

template <std::size_t... I>
LLM_SIMD vf duplicate_low(vf v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(I) / 2)...);
}
template <std::size_t... I>
LLM_SIMD vf swap_pairs(vf v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(I) ^ 1)...);
}
template <std::size_t... I>
LLM_SIMD vf alternating_signs(std::index_sequence<I...>) {
  return vf{(I % 2 == 0 ? -1.0f : 1.0f)...};
}

LLM_SIMD vf square_root(vf v) {
#if defined(LLM_SIMD_X86)
  vf root;
  __asm__("vsqrtps %1, %0" : "=v"(root) : "v"(v));  // vector types have no square root in C++
  return root;
#else
  for (int i = 0; i < width; ++i) v[i] = std::sqrt(v[i]);
  return v;
#endif
}

#else

using vf = float;
using vi = std::int32_t;

LLM_SIMD vf splat(float x) { return x; }
LLM_SIMD vi splat_int(std::int32_t x) { return x; }
LLM_SIMD vf as_float(vi v) { return std::bit_cast<float>(v); }
LLM_SIMD vi as_int(vf v) { return std::bit_cast<std::int32_t>(v); }
LLM_SIMD bool both(bool a, bool b) { return a && b; }
LLM_SIMD vf load(const float* p) { return *p; }
LLM_SIMD vf load(const bf16* p) { return *p; }
LLM_SIMD vf load(const f16* p) { return *p; }
LLM_SIMD void store(float* p, vf v) { *p = v; }
LLM_SIMD void store(bf16* p, vf v) { *p = bf16(v); }
LLM_SIMD vf rounded_to(const bf16*, vf v) { return bf16(v); }
LLM_SIMD vf larger(vf a, vf b) { return a > b ? a : b; }
LLM_SIMD vf smaller(vf a, vf b) { return a < b ? a : b; }
LLM_SIMD vf if_negative(vf x, vf then, vf otherwise) { return x < 0.0f ? then : otherwise; }
LLM_SIMD float horizontal_sum(vf v) { return v; }
LLM_SIMD float horizontal_max(vf v) { return v; }
LLM_SIMD vf square_root(vf v) { return std::sqrt(v); }

#endif

LLM_SIMD vf rounded_to(const float*, vf v) { return v; }

/// a * b + c, fused where the target can. Said in full for g++: left to itself it fuses some products of a chain and not others, as it
/// thinks best for the CPU of -march, and a result would depend on the block that computed it. clang always fuses.
#if defined(__clang__) || !LLM_X86 || LLM_SIMD_WIDTH == 1
LLM_SIMD vf multiply_add(vf a, vf b, vf c) { return a * b + c; }
#elif LLM_SIMD_WIDTH == 16
LLM_SIMD vf multiply_add(vf a, vf b, vf c) { return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4); }
#elif LLM_SIMD_WIDTH == 8
LLM_SIMD vf multiply_add(vf a, vf b, vf c) { return __builtin_ia32_vfmaddps256(a, b, c); }
#elif defined(__FMA__)
LLM_SIMD vf multiply_add(vf a, vf b, vf c) { return __builtin_ia32_vfmaddps(a, b, c); }
#else
LLM_SIMD vf multiply_add(vf a, vf b, vf c) { return a * b + c; }
#endif

#if LLM_SIMD_WIDTH == 16
LLM_SIMD std::uint16_t first_lanes(std::int64_t left) { return static_cast<std::uint16_t>((1u << left) - 1); }
LLM_SIMD vf load_part(const float* p, std::int64_t left) {
  vf v;
  __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(*reinterpret_cast<const vf_anywhere*>(p)), "Yk"(first_lanes(left)));
  return v;
}
LLM_SIMD vf load_part(const bf16* p, std::int64_t left) {
  vu v;
  __asm__("vpmovzxwd %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(*reinterpret_cast<const vh_anywhere*>(p)), "Yk"(first_lanes(left)));
  return (vf)(v << 16);
}
LLM_SIMD vf load_part(const f16* p, std::int64_t left) {
  vf v;
  __asm__("vcvtph2ps %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(*reinterpret_cast<const vh_anywhere*>(p)), "Yk"(first_lanes(left)));
  return v;
}
LLM_SIMD void store_part(float* p, vf v, std::int64_t left) {
  __asm__("vmovups %1, %0%{%2%}" : "+m"(*reinterpret_cast<vf_anywhere*>(p)) : "v"(v), "Yk"(first_lanes(left)));
}
LLM_SIMD void store_part(bf16* p, vh v, std::int64_t left) {
  __asm__("vmovdqu16 %1, %0%{%2%}" : "+m"(*reinterpret_cast<vh_anywhere*>(p)) : "v"(v), "Yk"(first_lanes(left)));
}
LLM_SIMD void store_part(bf16* p, vf v, std::int64_t left) { store_part(p, to_bf16(v), left); }
#elif LLM_SIMD_WIDTH > 1
// The empty statement keeps a compiler from making a call of memcpy out of a few elements: that costs more than they do, and constants in
// vector registers do not outlive it.
template <class T>
LLM_SIMD vf load_part(const T* p, std::int64_t left) {
  T part[width] = {};
  for (std::int64_t i = 0; i < left; ++i) {
    part[i] = p[i];
    __asm__ volatile("");
  }
  return load(part);
}
template <class T>
LLM_SIMD void store_part(T* p, vf v, std::int64_t left) {
  T part[width];
  store(part, v);
  for (std::int64_t i = 0; i < left; ++i) {
    p[i] = part[i];
    __asm__ volatile("");
  }
}
#endif

/// The first `left` elements at p, the rest 0.
template <class T>
LLM_SIMD vf load(const T* p, std::int64_t left) {
  if constexpr (width > 1)
    if (left < width) return load_part(p, left);
  return load(p);
}
/// Stores the first `left` elements.
template <class T>
LLM_SIMD void store(T* p, vf v, std::int64_t left) {
  if constexpr (width > 1)
    if (left < width) return store_part(p, v, left);
  store(p, v);
}
/// The gradient convention: over what is there, or on top of it.
template <class T>
LLM_SIMD void store(T* p, vf v, std::int64_t left, bool add) {
  store(p, add ? load(p, left) + v : v, left);
}

/// The unit of products of floats; those of other numbers are made of other units, see multiply.hpp.
struct Floats {
  LLM_SIMD static vf add_products(vf sums, vf a, vf b) { return multiply_add(a, b, sums); }
  LLM_SIMD static void put(float* p, vf v, std::int64_t left) { store(p, v, left); }
};

// A row of at most three vectors of a product, written out: in a loop g++ keeps it in memory.
template <int V>
LLM_SIMD void load_row(vf (&row)[V], const float* p) {
  row[0] = load(p);
  if constexpr (V > 1) row[1] = load(p + width);
  if constexpr (V > 2) row[2] = load(p + 2 * width);
}
/// Adds what the units of a and of each vector of the row give.
template <class Unit, int V>
LLM_SIMD void add_products(vf (&sums)[V], vf a, const vf (&row)[V]) {
  sums[0] = Unit::add_products(sums[0], a, row[0]);
  if constexpr (V > 1) sums[1] = Unit::add_products(sums[1], a, row[1]);
  if constexpr (V > 2) sums[2] = Unit::add_products(sums[2], a, row[2]);
}

#endif
