// Counter-based random numbers: the value at (seed, stream, index) depends on nothing else, so any split over threads agrees.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace llm {

/// Philox4x32-10. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
constexpr std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                                 static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1), static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1,
         static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

/// Uniform in (0, 1], from 32 random bits.
constexpr double unit_interval(std::uint32_t bits) { return (static_cast<double>(bits) + 1.0) * 0x1p-32; }

/// Standard normal number `index` of a stream (Box-Muller on the words of one Philox block).
inline double normal_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto words = philox(seed, stream, index / 4);
  const std::uint64_t pair = index % 4 / 2 * 2;
  const double radius = std::sqrt(-2.0 * std::log(unit_interval(words[pair])));
  const double angle = 6.283185307179586 * unit_interval(words[pair + 1]);
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

/// A sequence of random numbers whose whole state is three integers, so that a checkpoint can hold it.
class Rng {
 public:
  struct State {
    std::uint64_t seed = 0, stream = 0, position = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  explicit Rng(std::uint64_t seed = 0, std::uint64_t stream = 0) : state_{seed, stream, 0} {}
  explicit Rng(const State& state) : state_(state) {}

  const State& state() const { return state_; }

  std::uint32_t next_u32() {
    const std::uint64_t at = state_.position++;
    return philox(state_.seed, state_.stream, at / 4)[at % 4];
  }
  std::uint64_t next_u64() {
    const std::uint64_t low = next_u32();
    return low | static_cast<std::uint64_t>(next_u32()) << 32;
  }
  /// Uniform in [0, 1), 53 random bits.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }
  /// Uniform in [0, bound), without bias; bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    std::uint64_t value = next_u64();
    while (value >= limit) value = next_u64();
    return value % bound;
  }

 private:
  State state_;
};

}  // namespace llm
