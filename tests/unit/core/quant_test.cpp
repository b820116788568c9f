// Decoding rows of every storage format, and what is refused.
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

TEST_CASE("decoding refuses part of a block and what is no weight format") {
  std::byte bytes[68] = {};
  double out[32];
  CHECK_THROWS_AS(llm::dequantize_row(DType::q8_0, bytes, out, 31), llm::ShapeError);
  CHECK_THROWS_AS(llm::dequantize_row(DType::i32, bytes, out, 1), llm::ValueError);
}
