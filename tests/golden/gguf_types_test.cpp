// Decoding and encoding of stored rows against the bytes and values of the gguf package.
#include <cstring>

#include <llm/core/quant.hpp>
#include <llm/core/quant_encode.hpp>
#include <support/golden.hpp>

using namespace llm_test;
using llm::DType;

namespace {

void check_decoding(const Golden& golden, const std::string& type, DType format) {
  INFO(type);
  const auto bytes = golden.tensor<std::uint8_t>(type + ".bytes");
  const auto expected = golden.tensor<float>(type + ".values");
  REQUIRE(bytes.columns() == llm::storage_bytes(format, expected.columns()));
  std::vector<float> actual(expected.values.size());
  for (std::int64_t row = 0; row < expected.rows(); ++row)
    llm::dequantize_row(format, bytes.data() + row * bytes.columns(), actual.data() + row * expected.columns(), expected.columns());
  CHECK(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)) == 0);
}

void check_encoding(const Golden& golden, const std::string& type, DType format) {
  INFO(type);
  const auto source = golden.tensor<float>(type + ".source");
  const auto expected = golden.tensor<std::uint8_t>(type + ".bytes");
  std::vector<std::uint8_t> actual(expected.values.size());
  for (std::int64_t row = 0; row < source.rows(); ++row)
    llm::quantize_row(format, source.data() + row * source.columns(), actual.data() + row * expected.columns(), source.columns());
  CHECK(actual == expected.values);
}

}  // namespace

TEST_CASE("rows decode to the values of the gguf package, exactly") {
  const Golden golden("gguf_types.safetensors");
  for (const auto& [name, format] : {std::pair{"Q8_0", DType::q8_0},
                                     {"Q4_0", DType::q4_0},
                                     {"Q4_1", DType::q4_1},
                                     {"Q5_0", DType::q5_0},
                                     {"Q5_1", DType::q5_1},
                                     {"Q2_K", DType::q2_k},
                                     {"Q3_K", DType::q3_k},
                                     {"Q4_K", DType::q4_k},
                                     {"Q5_K", DType::q5_k},
                                     {"Q6_K", DType::q6_k}})
    check_decoding(golden, name, format);
  check_decoding(golden, "F16", DType::f16);
  check_decoding(golden, "BF16", DType::bf16);
}

TEST_CASE("rows encode to the bytes of the gguf package, exactly") {
  const Golden golden("gguf_types.safetensors");
  for (const auto& [name, format] : {std::pair{"F16", DType::f16},
                                     {"BF16", DType::bf16},
                                     {"Q4_0", DType::q4_0},
                                     {"Q4_1", DType::q4_1},
                                     {"Q5_0", DType::q5_0},
                                     {"Q5_1", DType::q5_1},
                                     {"Q8_0", DType::q8_0}})
    check_encoding(golden, name, format);
}
