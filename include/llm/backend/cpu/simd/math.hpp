// exp, log and what is made of them, on vectors.
#if defined(LLM_SIMD_WIDTH)

/// x = n ln 2 + r with |r| <= ln 2 / 2. 1.5 * 2^23 rounds to an integer, which then stands in the low bits of `shifted`.
struct PowerOfTwo {
  vf shifted, n, r;
};
LLM_SIMD PowerOfTwo split_exponent(vf x) {
  constexpr float magic = 12582912.0f;
  const vf shifted = multiply_add(x, splat(1.44269504088896341f), splat(magic)), n = shifted - magic;
  return {shifted, n, multiply_add(n, splat(2.12194440e-4f), multiply_add(n, splat(-0.693359375f), x))};
}

/// e^r for |r| <= ln 2 / 2: the polynomial of degree 6 whose largest relative error, 2e-9, is the least.
LLM_SIMD vf exponential_near_zero(vf r) {
  vf p = multiply_add(splat(1.3814540579915047e-3f), r, splat(8.36874544620514e-3f));
  p = multiply_add(p, r, splat(4.166838899254799e-2f));
  p = multiply_add(p, r, splat(1.666652113199234e-1f));
  p = multiply_add(p, r, splat(4.999999403953552e-1f));
  p = multiply_add(p, r, splat(1.0f));
  return multiply_add(p, r, splat(1.0f));
}

#if LLM_SIMD_WIDTH == 16 && defined(LLM_SIMD_X86)
/// p 2^n, right for subnormal results and beyond the largest float too.
LLM_SIMD vf times_power(vf p, vf n) {
  vf result;
  __asm__("vscalefps %2, %1, %0" : "=v"(result) : "v"(p), "v"(n));
  return result;
}
#endif

/// e^x to about one unit in the last place: 0 at -inf and below -104, inf above 88.8, NaN stays NaN.
LLM_SIMD vf exponential(vf x) {
  x = smaller(splat(89.0f), larger(splat(-104.0f), x));  // the second operand comes back when x is NaN
  const PowerOfTwo s = split_exponent(x);
  const vf p = exponential_near_zero(s.r);
#if LLM_SIMD_WIDTH == 16 && defined(LLM_SIMD_X86)
  return times_power(p, s.n);
#else
  // 2^n in two steps, so that subnormal results and n = 128 come out right.
  const vi n = as_int(s.shifted) - splat_int(0x4b400000), half = n >> 1;
  return p * as_float((half + 127) << 23) * as_float((n - half + 127) << 23);
#endif
}

/// e^x for x that are not much above 0, as in a softmax: what would be below the smallest normal float may be 0. NaN stays NaN.
LLM_SIMD vf exponential_of_negative(vf x) {
#if LLM_SIMD_WIDTH == 16 && defined(LLM_SIMD_X86)
  const PowerOfTwo s = split_exponent(larger(splat(-104.0f), x));
  return times_power(exponential_near_zero(s.r), s.n);
#else
  const vf least = splat(-87.0f);
  const PowerOfTwo s = split_exponent(larger(least, x));
  const vf power = as_float((as_int(s.shifted) << 23) + (127 << 23));  // a factor, since NaN must stay NaN
  return x < least ? splat(0) : exponential_near_zero(s.r) * power;
#endif
}

/// log x to about one unit in the last place for x that are 0 (-inf), normal or inf; NaN stays NaN. Cephes' coefficients.
LLM_SIMD vf logarithm(vf x) {
  constexpr std::int32_t root_half = 0x3f3504f3;  // the mantissa lies between this, sqrt(1/2), and twice that
  const vi e = (as_int(x) - splat_int(root_half)) >> 23;
  const vf f = as_float(as_int(x) - (e << 23)) - 1.0f, n = as_float(e + 0x4b400000) - 12582912.0f, square = f * f;
  vf p = multiply_add(splat(7.0376836292e-2f), f, splat(-1.1514610310e-1f));
  p = multiply_add(p, f, splat(1.1676998740e-1f));
  p = multiply_add(p, f, splat(-1.2420140846e-1f));
  p = multiply_add(p, f, splat(1.4249322787e-1f));
  p = multiply_add(p, f, splat(-1.6668057665e-1f));
  p = multiply_add(p, f, splat(2.0000714765e-1f));
  p = multiply_add(p, f, splat(-2.4999993993e-1f));
  p = multiply_add(p, f, splat(3.3333331174e-1f));
  p = multiply_add(n, splat(-2.12194440e-4f), p * f * square);
  p = multiply_add(square, splat(-0.5f), p) + f;
  const vf result = multiply_add(n, splat(0.693359375f), p), infinity = splat(std::numeric_limits<float>::infinity());
  return x == splat(0) ? -infinity : x < infinity ? result : x;
}

LLM_SIMD vf sigmoid(vf x) { return 1.0f / (1.0f + exponential(-x)); }

/// erf x, when e^(-x^2) is known. Abramowitz and Stegun 7.1.26: absolute error 1.5e-7.
LLM_SIMD vf error_function(vf x, vf exponential_of_minus_square) {
  const vf magnitude = if_negative(x, -x, x);
  const vf t = 1.0f / multiply_add(splat(0.3275911f), magnitude, splat(1.0f));
  vf p = multiply_add(splat(1.061405429f), t, splat(-1.453152027f));
  p = multiply_add(p, t, splat(1.421413741f));
  p = multiply_add(p, t, splat(-0.284496736f));
  p = multiply_add(p, t, splat(0.254829592f));
  const vf value = 1.0f - p * t * exponential_of_minus_square;
  return if_negative(x, -value, value);
}

#endif
