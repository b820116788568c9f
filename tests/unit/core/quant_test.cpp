// Decoding rows of every storage format, encoding q8_0, and what is refused.
#include <cmath>
#include <limits>
#include <vector>

#include <llm/core/quant.hpp>
#include <support/catch.hpp>

using llm::DType;

namespace {
template <class Stored>
void check_plain_row(DType format) {
  std::vector<std::byte> bytes(1 + 3 * sizeof(Stored));  // begins at an odd address
  for (std::size_t i = 0; i < 3; ++i) {
    const Stored value(static_cast<float>(i) - 1.5f);
    std::memcpy(bytes.data() + 1 + i * sizeof(Stored), &value, sizeof(Stored));
  }
  double out[3];
  llm::dequantize_row(format, bytes.data() + 1, out, 3);
  CHECK(out[0] == -1.5);
  CHECK(out[2] == 0.5);
}
}  // namespace

TEST_CASE("dequantize_row reads plain formats at any address") {
  check_plain_row<double>(DType::f64);
  check_plain_row<float>(DType::f32);
  check_plain_row<llm::bf16>(DType::bf16);
  check_plain_row<llm::f16>(DType::f16);
}

TEST_CASE("dequantize_row keeps the precision of f64") {
  const double value = 1.0 + 1e-12;
  double out = 0;
  llm::dequantize_row(DType::f64, &value, &out, 1);
  CHECK(out == value);
}

TEST_CASE("q8_0 has GGML's bytes: an f16 scale, then 32 signed bytes") {
  float x[32] = {};
  x[0] = 127;  // scale 1
  x[1] = -127;
  x[2] = 2.5f;  // half away from zero
  x[3] = -2.5f;
  x[4] = 0.49f;
  unsigned char bytes[34];
  llm::quantize_row_q8_0(x, bytes, 32);
  CHECK(bytes[0] == 0x00);  // 1.0 in f16, little endian
  CHECK(bytes[1] == 0x3c);
  CHECK(static_cast<signed char>(bytes[2]) == 127);
  CHECK(static_cast<signed char>(bytes[3]) == -127);
  CHECK(static_cast<signed char>(bytes[4]) == 3);
  CHECK(static_cast<signed char>(bytes[5]) == -3);
  CHECK(bytes[6] == 0);
}

TEST_CASE("q8_0 is within half a step, and a block of zeros is zeros") {
  std::vector<float> x(96), back(96);
  for (std::size_t i = 0; i < 64; ++i) x[i] = std::sin(static_cast<float>(i)) * (i < 32 ? 1.0f : 1000.0f);
  std::vector<std::byte> bytes(1 + 3 * 34);
  llm::quantize_row_q8_0(x.data(), bytes.data() + 1, 96);
  llm::dequantize_row(DType::q8_0, bytes.data() + 1, back.data(), 96);
  for (std::size_t i = 0; i < 96; ++i) {
    const float largest = i < 32 ? 1.0f : 1000.0f;
    REQUIRE(std::abs(x[i] - back[i]) <= largest / 127 * 0.57f);  // half a step, and the rounding of the scale to f16
  }
  CHECK(back[95] == 0);
}

TEST_CASE("q8_0 of numbers too small for an f16 scale is zeros") {
  std::vector<float> x(32, std::numeric_limits<float>::denorm_min()), back(32, 1.0f);
  std::byte bytes[34];
  llm::quantize_row_q8_0(x.data(), bytes, 32);
  llm::dequantize_row(DType::q8_0, bytes, back.data(), 32);
  for (const float value : back) CHECK(value == 0);
}

TEST_CASE("encoding refuses what q8_0 cannot hold, decoding what is no weight format") {
  std::vector<float> x(32, 1.0f);
  std::byte bytes[68];
  double out[32];
  CHECK_THROWS_AS(llm::quantize_row_q8_0(x.data(), bytes, 31), llm::ShapeError);
  CHECK_THROWS_AS(llm::dequantize_row(DType::q8_0, bytes, out, 31), llm::ShapeError);
  CHECK_THROWS_AS(llm::dequantize_row(DType::i32, bytes, out, 1), llm::ValueError);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e8f}) {
    x[5] = bad;
    CHECK_THROWS_AS(llm::quantize_row_q8_0(x.data(), bytes, 32), llm::NumericError);
  }
}
