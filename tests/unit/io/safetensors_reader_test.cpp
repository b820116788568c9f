// Reading safetensors files: files that others wrote, truncation, conversion of values.
#include <llm/io/safetensors_reader.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

using llm::copy_values;
using llm::SafetensorsFile;

static const std::string golden = LLM_TEST_DATA "/goldens/llama_tiny.safetensors";

template <class T>
static llm::SafetensorsEntry entry_of(const std::vector<T>& values) {
  return {"t", llm::dtype_of<T>, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

TEST_CASE("a file written by the Python package is read") {
  const auto file = SafetensorsFile::open(golden);
  CHECK(file.metadata().at("d_model") == "48");
  CHECK(file.metadata().at("tie_embeddings") == "True");
  CHECK(file.tensors().size() == 28);
  CHECK(file.unsupported().empty());
  const auto& embedding = file.at("embed.weight");
  CHECK(embedding.dtype == llm::DType::f32);
  CHECK(embedding.shape == std::vector<std::int64_t>{97, 48});
  CHECK(copy_values<float>(embedding).size() == 97 * 48);
  const auto ids = copy_values<std::int64_t>(file.at("in.ids"));
  REQUIRE(ids.size() == 2 * 16);
  for (const auto id : ids) CHECK((id >= 0 && id < 97));
  const auto loss = copy_values<double>(file.at("out.loss"));
  REQUIRE(loss.size() == 1);
  CHECK(std::abs(loss[0] - std::log(97.0)) < 0.5);  // an untrained model
}

TEST_CASE("a tensor is found by its name only; a missing one is null or an error naming file and tensor") {
  const auto file = SafetensorsFile::open(golden);
  for (const auto& tensor : file.tensors()) CHECK(file.find(tensor.name) == &tensor);
  CHECK(file.find("embed.weigh") == nullptr);
  CHECK(file.find("embed.weight0") == nullptr);
  CHECK(file.find("") == nullptr);
  CHECK_THROWS_WITH(file.at("lm_head.weight"), Catch::Contains("llama_tiny.safetensors: has no tensor 'lm_head.weight'"));
}

TEST_CASE("entries stay valid when the file object moves") {
  auto file = SafetensorsFile::open(golden);
  const auto* entry = file.find("embed.weight");
  const auto moved = std::move(file);
  CHECK(moved.find("embed.weight") == entry);
  CHECK(entry->name == "embed.weight");
  CHECK(copy_values<float>(*entry).size() == 97 * 48);
}

TEST_CASE("a file cut short anywhere is refused [st_trunc]") {
  const llm_test::TemporaryFolder folder;
  const std::string whole = llm_test::read_file(golden);
  const auto refused = [&](std::size_t length) {
    llm_test::write_file(folder / "cut", whole.substr(0, length));
    CAPTURE(length);
    CHECK_THROWS_AS(SafetensorsFile::open(folder / "cut"), llm::FileError);
  };
  for (std::size_t part = 0; part < 16; ++part) refused(whole.size() * part / 16);
  refused(whole.size() - 1);
  for (std::size_t length = 0; length < 64; ++length) refused(length);
  llm_test::write_file(folder / "longer", whole + '\0');
  CHECK_THROWS_AS(SafetensorsFile::open(folder / "longer"), llm::FileError);
  llm_test::write_file(folder / "whole", whole);
  CHECK(SafetensorsFile::open(folder / "whole").tensors().size() == 28);
}

TEST_CASE("floating values convert between all floating types") {
  const std::vector<double> values{0.0, -1.5, 2.0, 65504.0, 0x1p-14, std::numeric_limits<double>::infinity()};
  const auto check = [&](auto type) {
    using T = decltype(type);
    std::vector<T> stored;
    for (const double v : values) stored.push_back(static_cast<T>(v));
    CHECK(copy_values<T>(entry_of(stored)).size() == values.size());
    const auto wide = copy_values<double>(entry_of(stored));
    const auto single = copy_values<float>(entry_of(stored));
    const auto half = copy_values<llm::f16>(entry_of(stored));
    const auto brain = copy_values<llm::bf16>(entry_of(stored));
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(wide[i] == static_cast<double>(static_cast<float>(stored[i])));
      CHECK(single[i] == static_cast<float>(stored[i]));
      CHECK(half[i].bits == llm::f16(static_cast<float>(stored[i])).bits);
      CHECK(brain[i].bits == llm::bf16(static_cast<float>(stored[i])).bits);
    }
  };
  check(double{});
  check(float{});
  check(llm::bf16{});
  check(llm::f16{});
  CHECK(copy_values<double>(entry_of(std::vector<double>{0.1}))[0] == 0.1);
}

TEST_CASE("integers convert when they fit and are no floating values") {
  const std::vector<std::int64_t> large{1, std::int64_t{1} << 40};
  CHECK(copy_values<std::int64_t>(entry_of(large)) == large);
  CHECK_THROWS_WITH(copy_values<std::int32_t>(entry_of(large)), Catch::Contains("1099511627776 does not fit i32"));
  CHECK(copy_values<std::int32_t>(entry_of(std::vector<std::int64_t>{-7, 7})) == std::vector<std::int32_t>{-7, 7});
  CHECK(copy_values<std::int64_t>(entry_of(std::vector<std::uint8_t>{255})) == std::vector<std::int64_t>{255});
  CHECK_THROWS_AS(copy_values<std::uint8_t>(entry_of(std::vector<std::int32_t>{-1})), llm::ValueError);
  CHECK_THROWS_WITH(copy_values<float>(entry_of(large)), Catch::Contains("holds i64, which does not convert to f32"));
  CHECK_THROWS_AS(copy_values<std::int64_t>(entry_of(std::vector<float>{1})), llm::ValueError);
}

TEST_CASE("values are copied from unaligned bytes") {
  const std::vector<double> values{1.25, -3.5};
  std::vector<std::byte> bytes(1);
  const auto source = std::as_bytes(std::span(values));
  bytes.insert(bytes.end(), source.begin(), source.end());
  const llm::SafetensorsEntry entry{"t", llm::DType::f64, {2}, std::span<const std::byte>(bytes).subspan(1)};
  CHECK(copy_values<double>(entry) == values);
  CHECK(copy_values<float>(llm::SafetensorsEntry{"none", llm::DType::f32, {0}, {}}).empty());
}
