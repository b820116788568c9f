// Random numbers: known answers of Philox, moments, resuming, and unbiased bounds.
#include <array>
#include <cmath>
#include <set>

#include <llm/core/rng.hpp>
#include <support/catch.hpp>

using llm::Rng;
using Words = std::array<std::uint32_t, 4>;

// The vectors philox4x32 10 of Random123's kat_vectors.
static_assert(llm::philox(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(llm::philox(UINT64_MAX, UINT64_MAX, UINT64_MAX) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(llm::philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

TEST_CASE("unit_interval is in (0, 1]") {
  CHECK(llm::unit_interval(0) > 0);
  CHECK(llm::unit_interval(UINT32_MAX) == 1);
}

TEST_CASE("normal_at has the moments of a standard normal, and neighbours are independent") {
  const int n = 200000;
  double mean = 0, square = 0, cube = 0, fourth = 0, neighbours = 0, previous = 0;
  for (int i = 0; i < n; ++i) {
    const double x = llm::normal_at(7, 3, static_cast<std::uint64_t>(i));
    REQUIRE(std::isfinite(x));
    mean += x / n;
    square += x * x / n;
    cube += x * x * x / n;
    fourth += x * x * x * x / n;
    neighbours += x * previous / n;
    previous = x;
  }
  CHECK(std::abs(mean) < 0.01);  // more than four standard errors each
  CHECK(std::abs(square - 1) < 0.015);
  CHECK(std::abs(cube) < 0.04);
  CHECK(std::abs(fourth - 3) < 0.1);
  CHECK(std::abs(neighbours) < 0.01);
}

TEST_CASE("normal_at depends on seed, stream and index, and gives no value twice") {
  std::set<double> seen;
  for (std::uint64_t seed : {1u, 2u})
    for (std::uint64_t stream : {0u, 1u})
      for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(llm::normal_at(seed, stream, i));
  CHECK(seen.size() == 4000);
  CHECK(llm::normal_at(5, 6, 7) == llm::normal_at(5, 6, 7));
}

TEST_CASE("Rng resumes from its state [resume]") {
  Rng rng(11, 2);
  for (int i = 0; i < 13; ++i) rng.next_u32();
  Rng resumed(rng.state());
  for (int i = 0; i < 100; ++i) REQUIRE(rng.next_u64() == resumed.next_u64());
  CHECK(rng.state() == resumed.state());
  CHECK(rng.state().position == 213);
}

TEST_CASE("Rng is the sequence of Philox words") {
  Rng rng(0, 0);
  CHECK(rng.next_u32() == 0x6627e8d5);
  CHECK(rng.next_u32() == 0xe169c58d);
  CHECK(rng.next_u64() == 0x9b00dbd8bc57ac4c);
}

TEST_CASE("uniform is in [0, 1) with mean a half") {
  Rng rng(3);
  double total = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = rng.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    total += u;
  }
  CHECK(std::abs(total / 100000 - 0.5) < 0.005);
}

TEST_CASE("below is under its bound and uniform") {
  Rng rng(5);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60000; ++i) ++counts[rng.below(6)];
  for (const int count : counts) CHECK(std::abs(count - 10000) < 400);
  for (int i = 0; i < 10; ++i) CHECK(rng.below(1) == 0);
}

TEST_CASE("below has no bias where 2^64 is far from a multiple of the bound") {
  const std::uint64_t bound = std::uint64_t{3} << 62;  // taking 2^64 % bound alone would make a third of the values twice as likely
  Rng rng(9);
  int low = 0;
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t value = rng.below(bound);
    REQUIRE(value < bound);
    low += value < bound / 3 ? 1 : 0;
  }
  CHECK(std::abs(low - 10000) < 400);
}
