// Tags of element types and the bytes they take.
#include <llm/core/dtype.hpp>
#include <support/catch.hpp>

using llm::DType;
using llm::storage_bytes;

static_assert(llm::dtype_of<float> == DType::f32 && llm::dtype_of<llm::bf16> == DType::bf16 && llm::dtype_of<std::int64_t> == DType::i64);
static_assert(std::is_same_v<llm::compute_t<double>, double> && std::is_same_v<llm::compute_t<llm::bf16>, float>);
static_assert(storage_bytes(DType::q8_0, 64) == 68);

TEST_CASE("storage_bytes counts whole blocks") {
  CHECK(storage_bytes(DType::f64, 3) == 24);
  CHECK(storage_bytes(DType::bf16, 3) == 6);
  CHECK(storage_bytes(DType::u8, 0) == 0);
  CHECK(storage_bytes(DType::q8_0, 0) == 0);
  CHECK_THROWS_AS(storage_bytes(DType::q8_0, 33), llm::ShapeError);
  CHECK_THROWS_WITH(storage_bytes(DType::q8_0, 33), Catch::Contains("33") && Catch::Contains("q8_0") && Catch::Contains("32"));
  CHECK_THROWS_AS(storage_bytes(DType::f32, -1), llm::ShapeError);
}

TEST_CASE("storage_bytes does not wrap [int64]") {
  CHECK(storage_bytes(DType::f32, std::int64_t{8} * 2048 * 128256) == std::int64_t{4} * 8 * 2048 * 128256);
  CHECK(storage_bytes(DType::f32, INT64_MAX / 4) == INT64_MAX / 4 * 4);
  CHECK_THROWS_AS(storage_bytes(DType::f32, INT64_MAX / 4 + 1), llm::ShapeError);
  CHECK_THROWS_AS(storage_bytes(DType::f64, INT64_MAX), llm::ShapeError);
  CHECK_THROWS_AS(storage_bytes(DType::q8_0, INT64_MAX / 32 * 32), llm::ShapeError);
}

TEST_CASE("every DType has a name of its own, a block, and is found by its name") {
  for (std::size_t i = 0; i < llm::detail::dtype_count; ++i) {
    const auto type = static_cast<DType>(i);
    CHECK(llm::block_format(type).bytes > 0);
    DType found{};
    CHECK(llm::parse_dtype(llm::to_string(type), found));
    CHECK(found == type);
  }
  CHECK(llm::to_string(DType::q6_k) == "q6_k");
  CHECK(llm::to_string(static_cast<DType>(llm::detail::dtype_count)) == "?");
  DType untouched = DType::f16;
  CHECK_FALSE(llm::parse_dtype("q9_k", untouched));
  CHECK(untouched == DType::f16);
}

// Bits per weight that llama.cpp documents for its formats.
static_assert(storage_bytes(DType::q4_0, 256) * 8 == 4.5 * 256 && storage_bytes(DType::q4_1, 256) * 8 == 5.0 * 256);
static_assert(storage_bytes(DType::q5_0, 256) * 8 == 5.5 * 256 && storage_bytes(DType::q5_1, 256) * 8 == 6.0 * 256);
static_assert(storage_bytes(DType::q2_k, 256) * 8 == 2.625 * 256 && storage_bytes(DType::q3_k, 256) * 8 == 3.4375 * 256);
static_assert(storage_bytes(DType::q4_k, 256) * 8 == 4.5 * 256 && storage_bytes(DType::q5_k, 256) * 8 == 5.5 * 256);
static_assert(storage_bytes(DType::q6_k, 256) * 8 == 6.5625 * 256);
