// exp and what is made of it, on vectors.
#if defined(LLM_SIMD_WIDTH)

/// e^x to about one unit in the last place: 0 at -inf and below -104, inf above 88.8, NaN stays NaN.
/// x = n ln 2 + r with |r| <= ln 2 / 2; a polynomial for e^r (Cephes' coefficients); 2^n in two steps, so that subnormal results and
/// n = 128 come out right.
LLM_SIMD vf exponential(vf x) {
  constexpr float magic = 12582912.0f;                   // 1.5 * 2^23: adding it rounds to an integer in the low bits
  x = smaller(splat(89.0f), larger(splat(-104.0f), x));  // the second operand comes back when x is NaN
  const vf shifted = multiply_add(x, splat(1.44269504088896341f), splat(magic));
  const vi n = as_int(shifted) - splat_int(0x4b400000);
  const vf whole = shifted - magic;
  const vf r = multiply_add(whole, splat(2.12194440e-4f), multiply_add(whole, splat(-0.693359375f), x));
  vf p = multiply_add(splat(1.9875691500e-4f), r, splat(1.3981999507e-3f));
  p = multiply_add(p, r, splat(8.3334519073e-3f));
  p = multiply_add(p, r, splat(4.1665795894e-2f));
  p = multiply_add(p, r, splat(1.6666665459e-1f));
  p = multiply_add(p, r, splat(5.0000001201e-1f));
  p = multiply_add(p * r, r, r) + 1.0f;
  const vi half = n >> 1;
  return p * as_float((half + 127) << 23) * as_float((n - half + 127) << 23);
}

LLM_SIMD vf sigmoid(vf x) { return 1.0f / (1.0f + exponential(-x)); }

/// 1 - 2 / (e^2x + 1): absolute error of one rounding, which is what gelu needs.
LLM_SIMD vf hyperbolic_tangent(vf x) { return 1.0f - 2.0f / (exponential(x + x) + 1.0f); }

/// Abramowitz and Stegun 7.1.26: absolute error 1.5e-7.
LLM_SIMD vf error_function(vf x) {
  const vf magnitude = if_negative(x, -x, x);
  const vf t = 1.0f / multiply_add(splat(0.3275911f), magnitude, splat(1.0f));
  vf p = multiply_add(splat(1.061405429f), t, splat(-1.453152027f));
  p = multiply_add(p, t, splat(1.421413741f));
  p = multiply_add(p, t, splat(-0.284496736f));
  p = multiply_add(p, t, splat(0.254829592f));
  const vf value = 1.0f - p * t * exponential(-x * x);
  return if_negative(x, -value, value);
}

#endif
