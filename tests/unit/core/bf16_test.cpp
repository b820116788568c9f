// bf16: rounding to nearest even, special values, and every bit pattern there and back.
#include <cmath>
#include <limits>

#include <llm/core/dtype.hpp>
#include <support/catch.hpp>

using llm::bf16;

namespace {
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
}  // namespace

TEST_CASE("bf16: every bit pattern survives the way through float") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    bf16 value;
    value.bits = static_cast<std::uint16_t>(bits);
    const float wide = value;
    const bf16 back(wide);
    if (std::isnan(wide))
      CHECK(std::isnan(static_cast<float>(back)));
    else if (back.bits != bits)
      FAIL("bits " << bits << " became " << back.bits);
  }
}

TEST_CASE("bf16 rounds to nearest, ties to even") {
  CHECK(bf16(from_bits(0x3f800000)).bits == 0x3f80);
  CHECK(bf16(from_bits(0x3f807fff)).bits == 0x3f80);  // just below half
  CHECK(bf16(from_bits(0x3f808000)).bits == 0x3f80);  // half, even below
  CHECK(bf16(from_bits(0x3f808001)).bits == 0x3f81);  // just above half
  CHECK(bf16(from_bits(0x3f818000)).bits == 0x3f82);  // half, even above
  CHECK(bf16(from_bits(0xbf818000)).bits == 0xbf82);
  CHECK(bf16(from_bits(0x3fffffff)).bits == 0x4000);  // carries into the exponent
}

TEST_CASE("bf16: infinities, overflow, zeros and NaN") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(static_cast<float>(bf16(infinity)) == infinity);
  CHECK(static_cast<float>(bf16(-infinity)) == -infinity);
  CHECK(static_cast<float>(bf16((std::numeric_limits<float>::max)())) == infinity);
  CHECK(bf16(-0.0f).bits == 0x8000);
  CHECK(std::isnan(static_cast<float>(bf16(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(static_cast<float>(bf16(from_bits(0x7f800001)))));  // a payload below the kept bits must not become infinity
  CHECK(std::isnan(static_cast<float>(bf16(from_bits(0xffffffff)))));  // nor wrap to zero
}

TEST_CASE("bf16 of a double rounds once") {
  CHECK(bf16(1 + 0x1p-8).bits == 0x3f80);
  CHECK(bf16(1 + 0x1p-8 + 0x1p-40).bits == 0x3f81);  // by way of a float this would be the tie above
  CHECK(bf16(1 + 3 * 0x1p-8 - 0x1p-40).bits == 0x3f81);
  CHECK(bf16(-(1 + 0x1p-8 + 0x1p-40)).bits == 0xbf81);
  CHECK(bf16(1e-300).bits == 0);
  CHECK(bf16(-1e-300).bits == 0x8000);
  CHECK(bf16(1e300).bits == 0x7f80);
  CHECK(std::isnan(static_cast<float>(bf16(std::nan("")))));
  CHECK(bf16(-std::numeric_limits<double>::infinity()).bits == 0xff80);
}

static_assert(static_cast<float>(bf16(1.5f)) == 1.5f && sizeof(bf16) == 2);
