// Golden files: expected numbers in tests/data/goldens (see tests/data/README.md), and comparing with them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <llm/io/safetensors.hpp>
#include <support/catch.hpp>

namespace llm_test {

/// A tensor of a file, row-major.
template <class T>
struct GoldenTensor {
  std::vector<T> values;
  std::vector<std::int64_t> shape;

  const T* data() const { return values.data(); }
  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  std::int64_t extent(std::size_t axis) const { return shape.at(axis); }
  /// The last extent, and the product of the others.
  std::int64_t columns() const { return shape.back(); }
  std::int64_t rows() const { return size() / columns(); }
};

/// [B, X, Y, E] -> [B, Y, X, E]: golden files keep the head before the position, kernels the position before the head.
template <class T>
std::vector<T> swap_middle(const GoldenTensor<T>& t) {
  const std::int64_t B = t.extent(0), X = t.extent(1), Y = t.extent(2), E = t.extent(3);
  std::vector<T> out;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t y = 0; y < Y; ++y)
      for (std::int64_t x = 0; x < X; ++x)
        for (std::int64_t e = 0; e < E; ++e) out.push_back(t.values[static_cast<std::size_t>(((b * X + x) * Y + y) * E + e)]);
  return out;
}

/// A golden file, opened. Every tensor converts to the type asked for; a missing one throws llm::FileError.
class Golden {
 public:
  explicit Golden(const std::string& name) : file_(llm::SafetensorsFile::open(std::string(LLM_TEST_DATA) + "/goldens/" + name)) {}

  template <class T>
  GoldenTensor<T> tensor(const std::string& name) const {
    const auto& entry = file_.at(name);
    return {llm::copy_values<T>(entry), entry.shape};
  }
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }

  const std::string& metadata(const std::string& key) const { return file_.metadata().at(key); }
  std::string metadata(const std::string& key, const std::string& otherwise) const {
    const auto found = file_.metadata().find(key);
    return found == file_.metadata().end() ? otherwise : found->second;
  }
  double number(const std::string& key) const { return std::stod(metadata(key)); }

  /// The first words of the names in a file whose names are <op>.<case>.<tensor>, and "<op>.<case>." for every case of one op.
  std::set<std::string> ops() const {
    std::set<std::string> found;
    for (const auto& entry : file_.tensors()) found.insert(entry.name.substr(0, entry.name.find('.')));
    return found;
  }
  std::set<std::string> cases(const std::string& op) const {
    std::set<std::string> found;
    for (const auto& entry : file_.tensors())
      if (entry.name.starts_with(op + ".")) found.insert(entry.name.substr(0, entry.name.find('.', op.size() + 1) + 1));
    return found;
  }

 private:
  llm::SafetensorsFile file_;
};

/// Checks every |actual - expected| <= tolerance (1 + |expected|), infinities exactly; reports the first that is not.
template <class A, class E>
void check_close(const std::string& what, const std::vector<A>& actual, const std::vector<E>& expected, double tolerance = 1e-5) {
  INFO(what);
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto a = static_cast<double>(actual[i]), e = static_cast<double>(expected[i]);
    if (a == e || std::abs(a - e) <= tolerance * (1 + std::abs(e))) continue;
    FAIL_CHECK("element " << i << " of " << actual.size() << " is " << a << ", expected " << e);
    return;
  }
  CHECK(true);
}

}  // namespace llm_test
