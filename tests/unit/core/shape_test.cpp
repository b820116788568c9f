// Shapes: constant and run-time extents, their product, and what is refused.
#include <llm/core/shape.hpp>
#include <support/catch.hpp>

using llm::dyn;
using llm::Shape;

static_assert(Shape<>::rank == 0 && Shape<>{}.numel() == 1);
static_assert(Shape<dyn, 3, dyn>::rank == 3 && Shape<dyn, 3, dyn>::rank_dynamic == 2);
static_assert(Shape<dyn, 3, dyn>::static_extent(0) == dyn && Shape<dyn, 3, dyn>::static_extent(1) == 3);
static_assert(Shape<2, 3, 4>{}.numel() == 24);
static_assert(Shape<dyn, 3, dyn>{5, 7}.numel() == 105);
struct Holder {
  int value;
  [[no_unique_address]] Shape<2, 3> shape;
};
static_assert(sizeof(Holder) == sizeof(int), "constant extents cost no storage");
static_assert(sizeof(Shape<dyn, 3, dyn>) == 16);
static_assert(!std::is_constructible_v<Shape<dyn, 3, dyn>, int>, "one extent is missing");
static_assert(!std::is_constructible_v<Shape<dyn, 3>, int, int>, "3 is constant, it takes no run-time value");

TEST_CASE("run-time extents fill the dyn axes in order") {
  const Shape<4, dyn, 3, dyn> shape(5, 7);
  CHECK(shape.extents() == std::array<std::int64_t, 4>{4, 5, 3, 7});
  CHECK(llm::to_string(shape) == "[4, 5, 3, 7]");
  CHECK(llm::to_string(Shape<>{}) == "[]");
  CHECK(shape == Shape<4, dyn, 3, dyn>(5, 7));
  CHECK_FALSE(shape == Shape<4, dyn, 3, dyn>(5, 8));
}

TEST_CASE("an extent may be 0 and must not be negative") {
  CHECK(Shape<dyn, 3>(0).numel() == 0);
  CHECK_THROWS_AS((Shape<dyn, 3>(-2)), llm::ShapeError);
  CHECK_THROWS_WITH((Shape<dyn, 3>(-2)), Catch::Contains("-2"));
}

TEST_CASE("the number of elements does not wrap [int64]") {
  const std::int64_t huge = std::int64_t{1} << 32;
  CHECK(Shape<dyn, dyn>(huge, huge / 4).numel() == std::int64_t{1} << 62);
  CHECK_THROWS_AS((Shape<dyn, dyn>(huge, huge).numel()), llm::ShapeError);
  CHECK_THROWS_AS((Shape<dyn, dyn, dyn>(huge, huge, huge).numel()), llm::ShapeError);  // the wrapped product would be 0
}

TEST_CASE("an empty tensor has 0 elements, however large its other extents") {
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK(Shape<dyn, dyn, dyn>(0, huge, huge).numel() == 0);
}
