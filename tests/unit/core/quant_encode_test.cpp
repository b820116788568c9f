// Encoding rows in every storage format: bytes, errors against llama.cpp's quantisers, limits, and what is refused.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <llm/core/quant.hpp>
#include <llm/core/quant_encode.hpp>
#include <llm/core/rng.hpp>
#include <support/catch.hpp>

using llm::DType;

namespace {

constexpr DType all_formats[] = {DType::f64,  DType::f32,  DType::bf16, DType::f16,  DType::q8_0, DType::q4_0, DType::q4_1,
                                 DType::q5_0, DType::q5_1, DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k};
constexpr DType k_formats[] = {DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k};

constexpr float inf = std::numeric_limits<float>::infinity();

/// Weights of standard deviation 0.02; `heavy`: one in 64 is ten times as large.
std::vector<float> weights(std::size_t count, bool heavy) {
  llm::Rng rng(7);
  std::vector<float> out(count);
  for (float& value : out) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += rng.uniform();
    value = static_cast<float>(sum * (heavy && rng.below(64) == 0 ? 0.2 : 0.02));
  }
  return out;
}

std::vector<float> through(DType format, const std::vector<float>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<std::byte> bytes(1 + static_cast<std::size_t>(llm::storage_bytes(format, n)));
  std::vector<float> back(x.size());
  llm::quantize_row(format, x.data(), bytes.data() + 1, n);  // an odd address
  llm::dequantize_row(format, bytes.data() + 1, back.data(), n);
  return back;
}

/// Root of the mean squared error over that of the values.
double relative_error(DType format, const std::vector<float>& x) {
  const std::vector<float> back = through(format, x);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error += std::pow(static_cast<double>(x[i]) - static_cast<double>(back[i]), 2);
    size += std::pow(static_cast<double>(x[i]), 2);
  }
  return std::sqrt(error / size);
}

}  // namespace

TEST_CASE("q8_0 has GGML's bytes: an f16 scale, then 32 signed bytes") {
  float x[32] = {};
  x[0] = 127;  // scale 1
  x[1] = -127;
  x[2] = 2.5f;  // half away from zero
  x[3] = -2.5f;
  x[4] = 0.49f;
  unsigned char bytes[34];
  llm::quantize_row(DType::q8_0, x, bytes, 32);
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
  llm::quantize_row(DType::q8_0, x.data(), bytes.data() + 1, 96);
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
  llm::quantize_row(DType::q8_0, x.data(), bytes, 32);
  llm::dequantize_row(DType::q8_0, bytes, back.data(), 32);
  for (const float value : back) CHECK(value == 0);
}

TEST_CASE("K formats lose less than llama.cpp's quantisers do on the same weights") {
  struct Peer {
    DType format;
    double normal, heavy;  // relative errors of ggml_quantize_chunk, llama.cpp 0c1e570
  };
  constexpr Peer peers[] = {{DType::q2_k, 0.29160, 0.32464},
                            {DType::q3_k, 0.14836, 0.19681},
                            {DType::q4_k, 0.07012, 0.09601},
                            {DType::q5_k, 0.03545, 0.04848},
                            {DType::q6_k, 0.01726, 0.02753}};
  for (const Peer& peer : peers) {
    INFO(to_string(peer.format));
    CHECK(relative_error(peer.format, weights(8192, false)) < peer.normal);
    CHECK(relative_error(peer.format, weights(8192, true)) < peer.heavy);
  }
}

TEST_CASE("what a K format can hold exactly comes back nearly so") {
  for (const DType format : k_formats) {
    INFO(to_string(format));
    const std::vector<float> stored = through(format, weights(1024, true));
    CHECK(relative_error(format, stored) < 0.3 * relative_error(format, weights(1024, true)));
  }
}

TEST_CASE("zeros, equal values, tiny and large ones survive every format") {
  for (const DType format : all_formats) {
    INFO(to_string(format));
    for (const float value : through(format, std::vector<float>(256, 0.0f))) REQUIRE(value == 0);
    for (const float magnitude : {1.0f, -3.0f, 1e-2f, 6e4f})
      for (const float value : through(format, std::vector<float>(256, magnitude)))
        REQUIRE(std::fabs(value - magnitude) <= 0.01f * std::fabs(magnitude));
    for (const float value : through(format, std::vector<float>(256, std::numeric_limits<float>::denorm_min())))
      REQUIRE(std::fabs(value) < 1e-30f);
  }
}

TEST_CASE("encoding refuses part of a block, integers, and values that are not finite or too large, and names the place") {
  std::vector<float> x(256, 1.0f);
  std::vector<std::byte> bytes(2048);
  CHECK_THROWS_AS(llm::quantize_row(DType::q8_0, x.data(), bytes.data(), 31), llm::ShapeError);
  CHECK_THROWS_AS(llm::quantize_row(DType::q6_k, x.data(), bytes.data(), 32), llm::ShapeError);
  CHECK_THROWS_AS(llm::quantize_row(DType::i32, x.data(), bytes.data(), 32), llm::ValueError);
  for (const DType format : all_formats)
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), inf, -inf}) {
      INFO(to_string(format) << " of " << bad);
      x[133] = bad;
      CHECK_THROWS_WITH(llm::quantize_row(format, x.data(), bytes.data(), 256), Catch::Contains("value 133 of 256"));
    }
  x[133] = 3e38f;
  for (const DType format : all_formats) {
    INFO(to_string(format));
    if (format == DType::f64 || format == DType::f32 || format == DType::bf16)
      CHECK_NOTHROW(llm::quantize_row(format, x.data(), bytes.data(), 256));
    else
      CHECK_THROWS_AS(llm::quantize_row(format, x.data(), bytes.data(), 256), llm::NumericError);
  }
  x[133] = std::numeric_limits<float>::max();
  CHECK_THROWS_AS(llm::quantize_row(DType::bf16, x.data(), bytes.data(), 256), llm::NumericError);  // rounds to infinity
}
