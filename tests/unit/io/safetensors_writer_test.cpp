// Writing safetensors files: round trips, alignment, what is refused before anything is written.
#include <llm/io/safetensors_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <llm/io/safetensors_reader.hpp>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

using llm::DType;
using llm::TensorToWrite;
using llm::write_safetensors;

template <class T>
static TensorToWrite tensor_of(std::string name, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  return {std::move(name), llm::dtype_of<T>, std::move(shape), std::as_bytes(std::span(values))};
}

static const std::vector<float> six{1, 2, 3, 4, 5, 6};

TEST_CASE("what is written is read back, with aligned data [atomic]") {
  const llm_test::TemporaryFolder folder;
  const std::vector<std::uint8_t> bytes{1, 2, 3};
  const std::vector<llm::bf16> brain{llm::bf16(1.5f)};
  const std::vector<std::int64_t> scalar{-5};
  const std::vector<float> none;
  const std::vector<TensorToWrite> tensors{tensor_of("bytes", {3}, bytes), tensor_of("a \"name\"\n\xe2\x82\xac", {2, 3}, six),
                                           tensor_of("brain", {1}, brain), tensor_of("scalar", {}, scalar),
                                           tensor_of("none", {0, 7}, none)};
  const std::map<std::string, std::string> metadata{{"", "empty key"}, {"text", std::string("\0\x1b\"\\ \xf0\x9f\x8e\x89", 9)}};
  write_safetensors(folder / "f", tensors, metadata);
  const auto file = llm::SafetensorsFile::open(folder / "f");
  CHECK(file.metadata() == metadata);
  REQUIRE(file.tensors().size() == tensors.size());
  for (const auto& tensor : tensors) {
    CAPTURE(tensor.name);
    const auto& read = file.at(tensor.name);
    CHECK(read.dtype == tensor.dtype);
    CHECK(read.shape == tensor.shape);
    REQUIRE(read.bytes.size() == tensor.bytes.size());
    CHECK(std::equal(read.bytes.begin(), read.bytes.end(), tensor.bytes.begin()));
    CHECK(reinterpret_cast<std::uintptr_t>(read.bytes.data()) % static_cast<std::uintptr_t>(llm::block_format(tensor.dtype).bytes) == 0);
  }
}

TEST_CASE("a file without tensors or metadata is one") {
  const llm_test::TemporaryFolder folder;
  write_safetensors(folder / "f", {});
  CHECK(llm_test::read_file(folder / "f") == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  CHECK(llm::SafetensorsFile::open(folder / "f").tensors().empty());
}

TEST_CASE("writing a file that is open leaves the reader's view as it was [atomic]") {
  const llm_test::TemporaryFolder folder;
  write_safetensors(folder / "f", std::vector{tensor_of("t", {6}, six)});
  const auto before = llm::SafetensorsFile::open(folder / "f");
  const std::vector<float> other{9};
  write_safetensors(folder / "f", std::vector{tensor_of("t", {1}, other)});
  CHECK(llm::copy_values<float>(before.at("t")) == six);
  CHECK(llm::copy_values<float>(llm::SafetensorsFile::open(folder / "f").at("t")) == other);
}

TEST_CASE("a writer of pieces refuses an order that would leave data misaligned") {
  const llm_test::TemporaryFolder folder;
  using Tensors = std::vector<llm::SafetensorsTensor>;
  const auto open = [&](const Tensors& tensors) { llm::SafetensorsWriter(folder / "f", tensors); };
  CHECK_THROWS_WITH(open({{"narrow", DType::u8, {3}}, {"wide", DType::f32, {1}}}), Catch::Contains("'wide'") && Catch::Contains("first"));
  CHECK_THROWS_AS(open({{"half", DType::bf16, {1}}, {"whole", DType::f64, {2}}}), llm::ValueError);
  CHECK_NOTHROW(open({{"wide", DType::f32, {1}}, {"narrow", DType::u8, {3}}}));
  CHECK_NOTHROW(open({{"narrow", DType::u8, {4}}, {"wide", DType::f32, {1}}}));  // happens to be aligned
}

TEST_CASE("what the format cannot hold is refused and the old file stays") {
  const llm_test::TemporaryFolder folder;
  llm_test::write_file(folder / "f", "old");
  const auto refuses = [&](const std::vector<TensorToWrite>& tensors, const std::string& reason,
                           const std::map<std::string, std::string>& metadata = {}) {
    CHECK_THROWS_WITH(write_safetensors(folder / "f", tensors, metadata), Catch::Contains(reason));
    CHECK(llm_test::read_file(folder / "f") == "old");
    CHECK_FALSE(std::filesystem::exists(folder / "f.tmp"));
  };
  refuses({tensor_of("t", {7}, six)}, "tensor 't': has 24 bytes, but its shape and dtype take 28");
  refuses({tensor_of("t", {-6}, six)}, "extent -6 is negative");
  refuses({tensor_of("t", {std::int64_t{1} << 32, std::int64_t{1} << 32}, six)}, "2^63");
  refuses({tensor_of("t", {0, std::int64_t{1} << 32, std::int64_t{1} << 32}, std::vector<float>{})}, "2^63");  // a 0 hides it
  refuses({tensor_of("t", {std::int64_t{1} << 60, 0}, std::vector<float>{})}, "2^63");  // bits, which its reader counts
  refuses({tensor_of("t", {6}, six), tensor_of("t", {2, 3}, six)}, "'t' occurs twice");
  refuses({tensor_of("__metadata__", {6}, six)}, "reserves this name");
  refuses({{"q", DType::q8_0, {32}, std::as_bytes(std::span("0123456789012345678901234567890123"))}}, "no type for q8_0");
  refuses({tensor_of("t\xff", {6}, six)}, "not valid UTF-8");
  refuses({}, "not valid UTF-8", {{"key", "\xc3"}});
  refuses({}, "longer than 1 MiB", {{"key", std::string(2'000'000, 'v')}});
  refuses(std::vector(262145, tensor_of("t", {6}, six)), "262145 tensors are more than the limit of 262144");
  std::map<std::string, std::string> keys;
  for (int i = 0; i < 65537; ++i) keys.emplace(std::to_string(i), "");
  refuses({}, "65537 keys of metadata are more than the limit of 65536", keys);
}
