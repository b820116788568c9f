// Shows that rotary positions make attention scores depend on distances alone, for both conventions of pairing dimensions.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/ops/rope.hpp>

namespace {

constexpr std::int64_t width = 8;
constexpr double theta = 10000.0;
using Head = std::array<double, width>;
using Tables = llm::RopeTables<width, llm::Cpu>;

constexpr Head query{0.5, -1.2, 0.3, 0.8, -0.7, 0.1, 1.1, -0.4};
constexpr Head key{-0.9, 0.6, 1.3, -0.2, 0.4, -1.5, 0.7, 0.2};

/// The formula of the paper in double: pair i turns by position * theta^(-2 i / width).
/// half-split pairs dimension i with i + width / 2, interleaved 2 i with 2 i + 1.
Head rotate(const Head& x, std::int64_t position, bool interleaved) {
  Head y{};
  for (std::size_t i = 0; i < width / 2; ++i) {
    const std::size_t a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + width / 2;
    const double angle = static_cast<double>(position) * std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    y[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
    y[b] = x[a] * std::sin(angle) + x[b] * std::cos(angle);
  }
  return y;
}

/// The same by the library's op, whose tables of cos and sin are f32.
Head rotate_by_library(const Head& x, std::int64_t position, const Tables& tables) {
  const auto head = llm::Tensor<double, llm::Shape<1, 1, 1, width>>::from(x);
  const auto turned = llm::rope(head, tables, llm::Positions<llm::Cpu>::from(position)).to_vector();
  Head y{};
  std::copy(turned.begin(), turned.end(), y.begin());
  return y;
}

double dot(const Head& a, const Head& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < width; ++i) sum += a[i] * b[i];
  return sum;
}

struct Score {
  double formula, library;
};

/// One line: the score of a query at position m and a key at position n.
Score show(std::int64_t m, std::int64_t n, const Tables& tables) {
  const double formula = dot(rotate(query, m, tables.interleaved), rotate(key, n, tables.interleaved));
  const double library = dot(rotate_by_library(query, m, tables), rotate_by_library(key, n, tables));
  std::printf("%6lld %6lld %6lld %18.10f %18.10f %12.1e\n", static_cast<long long>(m), static_cast<long long>(n),
              static_cast<long long>(n - m), formula, library, std::abs(library - formula));
  return {formula, library};
}

/// Both tables of one convention; whether the property holds.
bool demonstrate(const char* convention, bool interleaved) {
  constexpr double ten_decimals = 0.5e-10, f32_tables = 1e-6, visible = 1e-3;
  const Tables tables = Tables::build(/*positions=*/2048, theta, interleaved);
  bool holds = true;
  const char* const columns = "     m      n    n-m            formula            library   difference\n";

  std::printf("%s\n\nDistance 3 at different positions: the score stays.\n%s", convention, columns);
  const Score first = show(0, 3, tables);
  for (const std::int64_t m : {1, 2, 5, 10, 100, 1000, 2044}) {
    const Score s = show(m, m + 3, tables);
    holds = holds && std::abs(s.formula - first.formula) < ten_decimals && std::abs(s.library - first.library) < f32_tables;
  }

  std::printf("\nAnother distance: the score changes.\n%s", columns);
  for (const std::int64_t distance : {0, 1, 2, 4, 5, 10, 100}) {
    const Score s = show(5, 5 + distance, tables);
    holds = holds && std::abs(s.formula - first.formula) > visible && std::abs(s.library - s.formula) < f32_tables;
  }
  std::printf("\n");
  return holds;
}

}  // namespace

int main() {
  const bool half = demonstrate("Half-split (Hugging Face): dimension i pairs with i + width / 2", false);
  const bool interleaved = demonstrate("Interleaved (RoPE's paper, GGUF's Llama): dimension 2 i pairs with 2 i + 1", true);
  const bool holds = half && interleaved;
  std::printf("%s\n", holds ? "The scores depend on n - m alone, to 10 decimals by the formula and to f32 tables in the library."
                            : "The property FAILED.");
  return holds ? 0 : 1;
}
