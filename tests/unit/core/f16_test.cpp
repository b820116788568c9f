// f16: every bit pattern there and back, ties, subnormals, overflow.
#include <cmath>
#include <limits>

#include <llm/core/dtype.hpp>
#include <support/catch.hpp>

using llm::f16;

namespace {
f16 of_bits(std::uint32_t bits) {
  f16 value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}
}  // namespace

TEST_CASE("f16: every bit pattern survives the way through float") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float wide = of_bits(bits);
    const f16 back(wide);
    if (std::isnan(wide))
      CHECK(std::isnan(static_cast<float>(back)));
    else if (back.bits != bits)
      FAIL("bits " << bits << " became " << back.bits);
  }
}

TEST_CASE("f16 decodes as mantissa times a power of two") {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double mantissa = static_cast<double>(bits & 0x3ff) + (exponent == 0 ? 0 : 1024);
    const double expected = std::ldexp(mantissa, (exponent == 0 ? 1 : exponent) - 25);
    if (static_cast<double>(static_cast<float>(of_bits(bits))) != expected) FAIL("bits " << bits);
    if (static_cast<double>(static_cast<float>(of_bits(bits | 0x8000))) != -expected) FAIL("bits " << (bits | 0x8000));
  }
}

TEST_CASE("f16 rounds to nearest, ties to even, between every two neighbours") {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = of_bits(bits), high = of_bits(bits + 1);
    const float middle = (low + high) / 2;  // exact in float
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    if (f16(middle).bits != even) FAIL("the middle above bits " << bits << " became " << f16(middle).bits);
    if (f16(std::nextafter(middle, 0.0f)).bits != bits) FAIL("below the middle above bits " << bits);
    if (f16(std::nextafter(middle, high)).bits != bits + 1) FAIL("above the middle above bits " << bits);
    if (f16(-middle).bits != (even | 0x8000)) FAIL("the negative middle above bits " << bits);
  }
}

TEST_CASE("f16: overflow, underflow, infinities and NaN") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(f16(65504.0f).bits == 0x7bff);
  CHECK(f16(65519.996f).bits == 0x7bff);
  CHECK(f16(65520.0f).bits == 0x7c00);  // the tie goes to the even pattern, which is infinity
  CHECK(f16(65536.0f).bits == 0x7c00);
  CHECK(f16(-1e30f).bits == 0xfc00);
  CHECK(f16(infinity).bits == 0x7c00);
  CHECK(f16(-infinity).bits == 0xfc00);
  CHECK(f16(std::ldexp(1.0f, -24)).bits == 1);
  CHECK(f16(std::ldexp(1.0f, -25)).bits == 0);  // the tie between 0 and the smallest goes to 0
  CHECK(f16(std::nextafter(std::ldexp(1.0f, -25), 1.0f)).bits == 1);
  CHECK(f16(-0.0f).bits == 0x8000);
  CHECK(f16(1e-45f).bits == 0);
  CHECK(std::isnan(static_cast<float>(f16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("f16 of a double rounds once, between every two neighbours") {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = static_cast<float>(of_bits(bits)), high = static_cast<float>(of_bits(bits + 1));
    const double middle = (low + high) / 2;
    if (f16(middle).bits != (bits % 2 == 0 ? bits : bits + 1)) FAIL("the middle above bits " << bits);
    if (f16(std::nextafter(middle, low)).bits != bits) FAIL("below the middle above bits " << bits);
    if (f16(std::nextafter(middle, high)).bits != bits + 1) FAIL("above the middle above bits " << bits);
  }
}
