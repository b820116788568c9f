// What the tests of the CPU backend share: random buffers, comparison with the reference in double, every instruction set in turn.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <support/catch.hpp>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/core/rng.hpp>

namespace cpu_test {

/// n values N(0, stddev).
template <class T>
std::vector<T> random_values(std::int64_t n, std::uint64_t seed, double stddev = 1) {
  std::vector<T> values(static_cast<std::size_t>(n));
  llm::reference::fill_normal(values.data(), n, seed, 7, stddev);
  return values;
}

template <class T>
std::vector<double> in_double(const std::vector<T>& values) {
  std::vector<double> wide(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) wide[i] = static_cast<double>(values[i]);
  return wide;
}

/// Relative to 1 + |expected|: float sums of some hundred terms, or one rounding to bf16.
template <class T>
inline constexpr double tolerance = 1e-5;
template <>
inline constexpr double tolerance<llm::bf16> = 4.0e-3;
template <>
inline constexpr double tolerance<double> = 1e-12;

/// The largest |got - want| / (1 + |want|); infinite when one is NaN or infinite and the other is not the same.
template <class T>
double distance(const std::vector<T>& got, const std::vector<double>& want) {
  double largest = got.size() == want.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < want.size() && i < got.size(); ++i) {
    const double value = static_cast<double>(got[i]);
    if (value == want[i] || (std::isnan(value) && std::isnan(want[i]))) continue;
    const double error = std::fabs(value - want[i]) / (1 + std::fabs(want[i]));
    largest = std::isfinite(error) ? std::fmax(largest, error) : std::numeric_limits<double>::infinity();
  }
  return largest;
}

/// Runs f once for each instruction set that this CPU has.
template <class F>
void for_each_isa(const F& f) {
  const llm::cpu::Isa before = llm::cpu::current_isa();
  for (const llm::cpu::Isa isa : llm::cpu::all_isas) {
    if (!llm::cpu::has_isa(isa)) {
      WARN("skipped, this CPU has no " << llm::cpu::to_string(isa));
      continue;
    }
    llm::cpu::set_isa(isa);
    INFO("instruction set " << llm::cpu::to_string(isa));
    f();
  }
  llm::cpu::set_isa(before);
}

/// Bits of a result, to compare two runs.
template <class T>
std::vector<unsigned char> bits(const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  return {bytes, bytes + values.size() * sizeof(T)};
}

}  // namespace cpu_test
