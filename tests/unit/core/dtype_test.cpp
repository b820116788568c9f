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

TEST_CASE("every DType has a name and a block") {
  for (const DType type : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8, DType::q8_0}) {
    CHECK(llm::to_string(type) != "?");
    CHECK(llm::block_format(type).bytes > 0);
  }
}
