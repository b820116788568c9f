// Writing GGUF files: what is written is read again, by metadata, formats and data; what the format does not allow is refused.
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <llm/io/gguf.hpp>
#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

using llm::DType;
using llm::GgufFile;
using llm::GgufMetadata;
using llm::GgufTensorToWrite;
using llm::GgufType;
using llm::GgufWriter;
using llm::OwnedGgufValue;
using llm_test::read_file;
using llm_test::TemporaryFolder;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

/// A file of these tensors, each filled with its own number.
void write_numbered(const std::string& path, const GgufMetadata& metadata, const std::vector<GgufTensorToWrite>& tensors) {
  GgufWriter writer(path, metadata, tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::int64_t count = 1;
    for (const std::int64_t extent : tensors[i].shape) count *= extent;
    writer.write(bytes_of(std::string(static_cast<std::size_t>(llm::storage_bytes(tensors[i].dtype, count)), static_cast<char>(i + 1))));
  }
  writer.commit();
}

}  // namespace

TEST_CASE("a file read and written again is the same, byte for byte") {
  const TemporaryFolder folder;
  const std::string original = LLM_TEST_DATA "/goldens/tiny.gguf";
  const auto file = GgufFile::open(original);
  std::vector<GgufTensorToWrite> tensors;
  for (const llm::GgufEntry& tensor : file.tensors()) tensors.push_back({tensor.name, tensor.dtype, tensor.shape});
  GgufWriter writer(folder / "again.gguf", GgufMetadata(file), tensors);
  for (const llm::GgufEntry& tensor : file.tensors()) writer.write(tensor.bytes);
  writer.commit();
  CHECK(read_file(folder / "again.gguf") == read_file(original));
}

TEST_CASE("metadata of every type comes back") {
  const TemporaryFolder folder;
  GgufMetadata metadata;
  metadata.set("a.u8", std::uint8_t{200});
  metadata.set("a.i8", std::int8_t{-100});
  metadata.set("a.u16", std::uint16_t{60000});
  metadata.set("a.i16", std::int16_t{-30000});
  metadata.set("a.u32", std::uint32_t{4000000000u});
  metadata.set("a.i32", std::int32_t{-2000000000});
  metadata.set("a.u64", std::uint64_t{1} << 62);
  metadata.set("a.i64", INT64_MIN);
  metadata.set("a.f32", 0.1f);
  metadata.set("a.f64", 0.1);
  metadata.set("a.bool", true);
  metadata.set("a.text",
               "gr\xC3\xBC\xC3\x9F"
               "e");
  metadata.set("a.numbers", OwnedGgufValue::array(std::vector<float>{1.5f, -2.0f}));
  metadata.set("a.flags", OwnedGgufValue::array(std::vector<bool>{true, false, true}));
  metadata.set("a.texts", OwnedGgufValue::array(std::vector<std::string>{"", "two", "three"}));
  metadata.set("a.nested", OwnedGgufValue::array(std::vector<OwnedGgufValue>{OwnedGgufValue::array(std::vector<std::int64_t>{1, 2}),
                                                                             OwnedGgufValue::array(std::vector<std::string>{"x"}),
                                                                             OwnedGgufValue::array(std::vector<OwnedGgufValue>{})}));
  metadata.set("a.u8", std::uint8_t{7});  // once more: the last counts, the place stays
  write_numbered(folder / "a.gguf", metadata, {});
  const auto file = GgufFile::open(folder / "a.gguf");
  REQUIRE(file.metadata().size() == 16);
  CHECK(file.metadata().front().key == "a.u8");
  const auto value = [&](const char* key) { return *file.find_metadata(key); };
  CHECK(value("a.u8").integer() == 7);
  CHECK(value("a.i8").integer() == -100);
  CHECK(value("a.u16").integer() == 60000);
  CHECK(value("a.i16").integer() == -30000);
  CHECK(value("a.u32").integer() == 4000000000);
  CHECK(value("a.i32").integer() == -2000000000);
  CHECK(value("a.u64").integer() == std::int64_t{1} << 62);
  CHECK(value("a.i64").integer() == INT64_MIN);
  CHECK(value("a.f32").type() == GgufType::f32);
  CHECK(value("a.f32").floating() == static_cast<double>(0.1f));
  CHECK(value("a.f64").floating() == 0.1);
  CHECK(value("a.bool").boolean() == true);
  CHECK(value("a.text").text() ==
        "gr\xC3\xBC\xC3\x9F"
        "e");
  CHECK(value("a.numbers").array()->numbers() == std::vector<double>{1.5, -2.0});
  const auto flags = *value("a.flags").array();
  CHECK(flags.size() == 3);
  CHECK((*flags.begin()).boolean() == true);
  CHECK(value("a.texts").array()->strings() == std::vector<std::string_view>{"", "two", "three"});
  const auto nested = *value("a.nested").array();
  REQUIRE(nested.size() == 3);
  auto element = nested.begin();
  CHECK((*element).array()->integers() == std::vector<std::int64_t>{1, 2});
  CHECK((*++element).array()->strings() == std::vector<std::string_view>{"x"});
  CHECK((*++element).array()->size() == 0);
}

TEST_CASE("tensors of every format and shape come back, at the file's alignment") {
  const TemporaryFolder folder;
  const std::vector<GgufTensorToWrite> tensors{
      {"scalar", DType::f32, {}},        {"empty", DType::f32, {0, 5}},      {"odd", DType::bf16, {3}},
      {"f64", DType::f64, {2, 3}},       {"i32", DType::i32, {2}},           {"i64", DType::i64, {2}},
      {"f16", DType::f16, {2, 1, 3, 2}}, {"q4_0", DType::q4_0, {3, 64}},     {"q4_1", DType::q4_1, {32}},
      {"q5_0", DType::q5_0, {1, 32}},    {"q5_1", DType::q5_1, {2, 32}},     {"q8_0", DType::q8_0, {2, 32}},
      {"q2_k", DType::q2_k, {1, 256}},   {"q3_k", DType::q3_k, {1, 256}},    {"q4_k", DType::q4_k, {2, 256}},
      {"q5_k", DType::q5_k, {1, 512}},   {"q6_k", DType::q6_k, {2, 2, 256}}, {"last", DType::f32, {2, 0}}};
  for (const std::uint32_t alignment : {0u, 8u, 64u, 65536u}) {
    INFO("alignment " << alignment);
    GgufMetadata metadata;
    if (alignment != 0) metadata.set("general.alignment", alignment);
    write_numbered(folder / "t.gguf", metadata, tensors);
    const auto file = GgufFile::open(folder / "t.gguf");
    REQUIRE(file.tensors().size() == tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      INFO(tensors[i].name);
      const llm::GgufEntry& entry = file.tensors()[i];
      CHECK(entry.name == tensors[i].name);
      CHECK(entry.dtype == tensors[i].dtype);
      CHECK(entry.shape == tensors[i].shape);
      CHECK(entry.offset % (alignment == 0 ? 32 : alignment) == 0);
      for (const std::byte byte : entry.bytes) REQUIRE(byte == static_cast<std::byte>(i + 1));
    }
  }
}

TEST_CASE("data may come in pieces of any size") {
  const TemporaryFolder folder;
  const std::vector<GgufTensorToWrite> tensors{{"a", DType::f32, {3}}, {"nothing", DType::f32, {0}}, {"b", DType::f16, {5}}};
  GgufWriter writer(folder / "p.gguf", {}, tensors);
  writer.write(bytes_of("0123456"));
  writer.write(bytes_of("789abABCDEF"));  // ends the first tensor and begins another
  writer.write(bytes_of("GHIJ"));
  writer.commit();
  const auto file = GgufFile::open(folder / "p.gguf");
  CHECK(std::memcmp(file.at("a").bytes.data(), "0123456789ab", 12) == 0);
  CHECK(std::memcmp(file.at("b").bytes.data(), "ABCDEFGHIJ", 10) == 0);
}

TEST_CASE("what is incomplete does not appear, and leaves the old file") {
  const TemporaryFolder folder;
  llm_test::write_file(folder / "x.gguf", "old");
  const std::vector<GgufTensorToWrite> tensors{{"a", DType::f32, {2}}};
  {
    GgufWriter writer(folder / "x.gguf", {}, tensors);
    writer.write(bytes_of("1234"));
    CHECK_THROWS_WITH(writer.commit(), Catch::Contains("'a' lacks 4 bytes"));
    writer.write(bytes_of("5678"));
    CHECK_THROWS_WITH(writer.write(bytes_of("9")), Catch::Contains("more bytes than"));
  }
  CHECK(read_file(folder / "x.gguf") == "old");
  CHECK_FALSE(std::filesystem::exists(folder / "x.gguf.tmp"));
}

TEST_CASE("what the format or its reader does not allow is refused before a file is made") {
  const TemporaryFolder folder;
  const auto refused = [&](const GgufMetadata& metadata, const std::vector<GgufTensorToWrite>& tensors, const char* reason) {
    INFO(reason);
    CHECK_THROWS_WITH(GgufWriter(folder / "bad.gguf", metadata, tensors), Catch::Contains(reason));
    CHECK(std::filesystem::is_empty(folder.path()));
  };
  const auto with = [](std::string_view key, OwnedGgufValue value) {
    GgufMetadata metadata;
    metadata.set(key, std::move(value));
    return metadata;
  };
  refused({}, {{"", DType::f32, {1}}}, "expected 1 to 64");
  refused({}, {{std::string(65, 'a'), DType::f32, {1}}}, "has 65 bytes");
  refused({}, {{"a\n", DType::f32, {1}}}, "printable");
  refused({}, {{"a", DType::f32, {1}}, {"b", DType::f32, {1}}, {"a", DType::f32, {1}}}, "'a': occurs twice");
  refused({}, {{"a", DType::f32, {1, 1, 1, 1, 1}}}, "5 dimensions");
  refused({}, {{"a", DType::f32, {-1}}}, "negative");
  refused({}, {{"a", DType::u8, {1}}}, "no element type for u8");
  refused({}, {{"a", DType::q8_0, {32, 16}}}, "a row of 16");
  refused({}, {{"a", DType::f32, {INT64_MAX / 4, 2}}}, "exceed");
  refused({}, {{"a", DType::f32, {0, INT64_MAX / 2, 4}}}, "exceed");  // a 0 hides nothing from the reader
  refused({}, {{"a", DType::q8_0, {std::int64_t{1} << 60, 0}}}, "exceed");
  refused(with("general.alignment", std::uint32_t{24}), {}, "power of two");
  refused(with("general.alignment", std::uint64_t{32}), {}, "u32");
  refused(with("gr\xC3\xBC\xC3\x9F"
               "e",
               true),
          {}, "printable");
  OwnedGgufValue deep = OwnedGgufValue::array(std::vector<bool>{});
  for (int depth = 1; depth < 8; ++depth) deep = OwnedGgufValue::array(std::vector<OwnedGgufValue>{deep});
  {
    GgufWriter writer(folder / "deep.gguf", with("deep", deep), {});
    writer.commit();
  }
  const auto file = GgufFile::open(folder / "deep.gguf");
  const OwnedGgufValue copy(*file.find_metadata("deep"));  // is as deep as what it copies
  CHECK_THROWS_AS(OwnedGgufValue::array(std::vector<OwnedGgufValue>{copy}), llm::ValueError);
  CHECK_THROWS_AS(OwnedGgufValue::array(std::vector<OwnedGgufValue>{deep}), llm::ValueError);
  CHECK_THROWS_AS(OwnedGgufValue::array(std::vector<OwnedGgufValue>{true}), llm::ValueError);
}
