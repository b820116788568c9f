// Rotary embedding: a head turned by hand, the tables' precision, and positions beyond them.
#include <cmath>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/rope.hpp>
#include <support/catch.hpp>
#include <support/golden.hpp>

namespace {

using Head = std::vector<double>;

template <class T, std::int64_t E, class B>
std::vector<T> turned(const std::vector<T>& x, std::int64_t position, const llm::RopeTables<E, B>& tables) {
  const auto head = llm::Tensor<T, llm::Shape<1, 1, 1, E>, B>::from(x);
  return llm::rope(head, tables, llm::Positions<B>::from(position)).to_vector();
}

}  // namespace

// Pairs turn by p and p / 100 (theta 1e4, width 4). cos, sin of 1, 0.01, 7 and 0.07:
//   0.540302305868, 0.841470984808;  0.999950000417, 0.009999833334;  0.753902254343, 0.656986598719;  0.997551000253, 0.069942847338
TEMPLATE_TEST_CASE("One head of four at positions 1 and 7 by hand [rope_golden]", "", llm::Reference, llm::Cpu) {
  const std::vector<double> x{1.0, 2.0, 3.0, 4.0};
  const auto half = llm::RopeTables<4, TestType>::build(8, 10000.0, false);
  const auto interleaved = llm::RopeTables<4, TestType>::build(8, 10000.0, true);
  // half-split: (1, 3) turns by p, (2, 4) by p / 100
  llm_test::check_close("half 1", turned(x, 1, half), Head{-1.984110648556, 1.959900667497, 2.462377902412, 4.019799668335}, 1e-7);
  llm_test::check_close("half 7", turned(x, 7, half), Head{-1.217057541813, 1.715330611156, 2.918693361749, 4.130089695688}, 1e-7);
  // interleaved: (1, 2) turns by p, (3, 4) by p / 100
  llm_test::check_close("pairs 1", turned(x, 1, interleaved), Head{-1.142639663748, 1.922075596544, 2.959850667913, 4.029799501669}, 1e-7);
  llm_test::check_close("pairs 7", turned(x, 7, interleaved), Head{-0.560070943094, 2.164791107405, 2.712881611410, 4.200032543026}, 1e-7);
}

TEMPLATE_TEST_CASE("Tables at long positions are those of double, whatever the model's type [rope_fp32]", "", llm::Reference, llm::Cpu) {
  constexpr std::int64_t width = 128;
  for (const double theta : {10000.0, 500000.0}) {
    const auto tables = llm::RopeTables<width, TestType>::build(15963, theta, false);
    static_assert(std::is_same_v<typename decltype(tables.cos)::value_type, float>);
    const auto cosine = tables.cos.to_vector(), sine = tables.sin.to_vector();
    for (const std::int64_t position : {4095, 15962})
      for (std::int64_t i = 0; i < width / 2; ++i) {
        const auto angle = static_cast<double>(position) / std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(width));
        const auto at = static_cast<std::size_t>(position * width / 2 + i);
        REQUIRE(std::abs(static_cast<double>(cosine[at]) - std::cos(angle)) < 1e-5);
        REQUIRE(std::abs(static_cast<double>(sine[at]) - std::sin(angle)) < 1e-5);

        // The op turns (1, 0) to (cos, sin): in f32 to 1e-5, in bf16 to half a unit in its last place, 2^-9.
        std::vector<float> ones(width, 0.0f);
        std::vector<llm::bf16> short_ones(width, llm::bf16(0.0f));
        ones[static_cast<std::size_t>(i)] = 1.0f;
        short_ones[static_cast<std::size_t>(i)] = llm::bf16(1.0f);
        const auto y = turned(ones, position, tables);
        const auto short_y = turned(short_ones, position, tables);
        const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(i + width / 2);
        REQUIRE(std::abs(static_cast<double>(y[a]) - std::cos(angle)) < 1e-5);
        REQUIRE(std::abs(static_cast<double>(y[b]) - std::sin(angle)) < 1e-5);
        REQUIRE(std::abs(static_cast<double>(static_cast<float>(short_y[a])) - std::cos(angle)) < 1e-5 + 0x1p-9);
        REQUIRE(std::abs(static_cast<double>(static_cast<float>(short_y[b])) - std::sin(angle)) < 1e-5 + 0x1p-9);
      }
  }
}

TEST_CASE("The last position of the tables can be used, the next is an error") {
  const auto tables = llm::RopeTables<4, llm::Cpu>::build(8, 10000.0, false);
  const std::vector<float> x{1, 2, 3, 4};
  CHECK_NOTHROW(turned(x, 7, tables));
  CHECK_THROWS_WITH(turned(x, 8, tables), Catch::Contains("position 8 is beyond the tables' 8 positions"));
}

TEST_CASE("Positions below 0, and starts of another number of rows, are errors") {
  using X = llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, 1, 4>>;
  const auto tables = llm::RopeTables<4, llm::Cpu>::build(8, 10000.0, false);
  const X x = X::zeros({3, 1});
  CHECK_THROWS_WITH(llm::rope(x, tables, llm::Positions<llm::Cpu>::from(-1)), Catch::Contains("position -1 is negative"));
  const auto two = llm::Tensor<std::int64_t, llm::Shape<llm::dyn>>::from(std::vector<std::int64_t>{1, 2}, {2});
  CHECK_THROWS_WITH(llm::rope(x, tables, {0, two, 2}), Catch::Contains("B of x is 3 but starts is 2"));
}
