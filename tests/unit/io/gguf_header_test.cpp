// Headers of GGUF files: what must be refused, and that refusing costs no memory.
#include <llm/io/gguf_header.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <llm/io/gguf_reader.hpp>

#include <support/catch.hpp>
#include <support/gguf_builder.hpp>
#include <support/resident_memory.hpp>
#include <support/temporary_folder.hpp>

using llm::GgufType;
using llm_test::GgufBuilder;
using llm_test::le;

/// The error's text, "" when the file is accepted.
static std::string refusal(const std::string& file) {
  // An exact copy on the heap, so that a sanitizer sees any read past the end.
  const std::vector<char> copy(file.begin(), file.end());
  try {
    llm::parse_gguf(std::as_bytes(std::span(copy)), "test.gguf");
    return "";
  } catch (const llm::FileError& error) {
    const std::string text = error.what();
    return text.find("llm::GgufFile: test.gguf: ") == 0 ? text : "does not name the file: " + text;
  }
}

/// The refusal of a good file after a change.
static std::string refusal_after(const std::function<void(GgufBuilder&)>& change) {
  GgufBuilder builder;
  builder.text("general.architecture", "llama").u32("a", 1).zeros("t", {2, 3});
  change(builder);
  return refusal(builder.str());
}
/// The refusal of a file with one tensor of these extents, in the file's order, and type; its data is 4096 bytes.
static std::string refusal_of_tensor(const std::vector<std::uint64_t>& extents, std::uint32_t type, std::uint64_t offset = 0) {
  GgufBuilder builder;
  builder.entry("t", extents, type, offset);
  builder.data.assign(4096, '\1');
  return refusal(builder.str());
}
/// The refusal of a file with one key.
static std::string refusal_of_value(GgufType type, const std::string& value) { return refusal(GgufBuilder().raw("k", type, value).str()); }

static auto says(const std::string& text) { return Catch::Contains(text); }

TEST_CASE("a good GGUF header gives keys, names, types and row-major shapes") {
  GgufBuilder builder;
  builder.text("general.architecture", "x").u32("x.n", 7).zeros("m", {2, 3}).entry("scalar", {}, 0, 32);
  builder.entry("q", {64, 2}, 8, 64);
  builder.data.resize(64 + 4 * 34);
  const std::string file = builder.str();
  const auto index = llm::parse_gguf(std::as_bytes(std::span(file)), "test.gguf");
  CHECK(index.version == 3);
  CHECK(index.alignment == 32);
  REQUIRE(index.metadata.size() == 2);
  CHECK(index.metadata[1].key == "x.n");
  CHECK(index.metadata[1].value.integer() == 7);
  REQUIRE(index.tensors.size() == 3);
  CHECK(index.tensors[0].shape == std::vector<std::int64_t>{2, 3});
  CHECK(index.tensors[1].shape.empty());
  CHECK(index.tensors[1].bytes.size() == 4);
  CHECK(index.tensors[2].dtype == llm::DType::q8_0);
  CHECK(index.tensors[2].shape == std::vector<std::int64_t>{2, 64});
  CHECK(index.tensors[2].bytes.size() == 4 * 34);
  CHECK(index.tensors[2].bytes.data() + 4 * 34 == std::as_bytes(std::span(file)).data() + file.size());
  CHECK(index.tensors[2].offset + 4 * 34 == file.size());
  CHECK(refusal_after([](GgufBuilder& b) { b.version = 2; }).empty());
  CHECK(refusal(GgufBuilder().header()).empty());
}

TEST_CASE("magic, version and byte order of a GGUF file are checked [gguf_hdr]") {
  CHECK(refusal_after([](GgufBuilder&) {}).empty());
  CHECK_THAT(refusal(""), says("does not begin with 'GGUF'"));
  CHECK_THAT(refusal("GGU"), says("does not begin with 'GGUF'"));
  CHECK_THAT(refusal("GGUF"), says("version takes 4 bytes, 0 are left"));
  CHECK_THAT(refusal_after([](GgufBuilder& b) { b.magic = "GGML"; }), says("does not begin with 'GGUF'"));
  CHECK_THAT(refusal_after([](GgufBuilder& b) { b.version = 1; }), says("version 1; versions 2 and 3 are read"));
  CHECK_THAT(refusal_after([](GgufBuilder& b) { b.version = 4; }), says("version 4"));
  CHECK_THAT(refusal_after([](GgufBuilder& b) { b.version = 0; }), says("version 0"));
  CHECK_THAT(refusal_after([](GgufBuilder& b) { b.version = 0x03000000; }), says("big-endian"));
}

TEST_CASE("counts, lengths and depths that a GGUF file does not have are refused [gguf_hdr]") {
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  for (const std::uint64_t count : {top, UINT64_MAX, top - 1, std::uint64_t{1} << 32, std::uint64_t{3}}) {
    CAPTURE(count);
    CHECK_THAT(refusal_after([&](GgufBuilder& b) { b.pair_count = count; }), says("test.gguf: "));
    CHECK_THAT(refusal_after([&](GgufBuilder& b) { b.tensor_count = count; }), says("test.gguf: "));
  }
  CHECK_THAT(refusal_after([](GgufBuilder& b) { b.pair_count = top; }), says("claims 9223372036854775808 metadata keys"));
  CHECK_THAT(refusal_after([](GgufBuilder& b) { b.tensor_count = top; }), says("claims 9223372036854775808 tensors"));

  CHECK_THAT(refusal_of_value(GgufType::string, le(std::uint64_t{1} << 62)), says("takes 4611686018427387904 bytes, 19 are left"));
  CHECK_THAT(refusal_of_value(GgufType::string, le(UINT64_MAX) + "abc"), says("bytes"));
  const auto array = [](GgufType type, std::uint64_t count, const std::string& content = "") {
    return refusal_of_value(GgufType::array, llm_test::gguf_array(type, count) + content);
  };
  CHECK(array(GgufType::u8, 3, "abc").empty());
  CHECK_THAT(array(GgufType::u8, 40, "abc"), says("array of 40 u8 values"));
  CHECK_THAT(array(GgufType::f64, UINT64_MAX / 8 + 2, "abc"), says("array of 2305843009213693953 f64 values"));
  CHECK_THAT(array(GgufType::string, std::uint64_t{1} << 61), says("array of"));
  CHECK_THAT(array(GgufType::array, std::uint64_t{1} << 61), says("array of"));
  CHECK_THAT(array(GgufType::string, 1, le(std::uint64_t{1} << 62)), says("takes 4611686018427387904 bytes"));
  CHECK_THAT(array(static_cast<GgufType>(13), 0), says("unknown type 13"));

  const auto nested = [&](int depth) {
    std::string content;
    for (int i = 1; i < depth; ++i) content += llm_test::gguf_array(GgufType::array, 1);
    return refusal_of_value(GgufType::array, content + llm_test::gguf_array(GgufType::u8, 0));
  };
  CHECK(nested(1).empty());
  CHECK(nested(8).empty());
  CHECK_THAT(nested(9), says("more than 8 deep"));
  CHECK_THAT(nested(100), says("more than 8 deep"));
  CHECK_THAT(nested(100'000), says("more than 8 deep"));
}

TEST_CASE("an alignment that is no sane power of two is refused [gguf_hdr]") {
  const auto aligned = [](std::uint32_t alignment) {
    GgufBuilder builder;
    builder.alignment = alignment;
    builder.u32("general.alignment", alignment).entry("t", {4}, 0, 0);
    builder.data.resize(16);
    return refusal(builder.str());
  };
  for (const std::uint32_t good : {8u, 16u, 32u, 64u, 65536u}) CHECK(aligned(good).empty());
  for (const std::uint32_t bad : {0u, 1u, 3u, 4u, 24u, 33u, 131072u, 1u << 30, 1u << 31, UINT32_MAX}) {
    CAPTURE(bad);
    CHECK_THAT(aligned(bad), says("expected a power of two"));
  }
  CHECK_THAT(refusal(GgufBuilder().raw("general.alignment", GgufType::u64, le(std::uint64_t{32})).str()), says("type u64, expected u32"));
  CHECK_THAT(refusal(GgufBuilder().text("general.alignment", "32").str()), says("expected u32"));
}

TEST_CASE("keys and values that break the format are refused [gguf_hdr]") {
  CHECK_THAT(refusal(GgufBuilder().u32("", 1).str()), says("metadata key is empty"));
  CHECK_THAT(refusal(GgufBuilder().u32("a\n", 1).str()), says("printable ASCII"));
  CHECK_THAT(refusal(GgufBuilder().u32("k\xc3\xa9", 1).str()), says("printable ASCII"));
  CHECK(refusal(GgufBuilder().u32(std::string(65535, 'k'), 1).str()).empty());
  CHECK_THAT(refusal(GgufBuilder().u32(std::string(65536, 'k'), 1).str()), says("65536 bytes long"));
  CHECK_THAT(refusal(GgufBuilder().u32("a", 1).u32("b", 1).u32("a", 2).str()), says("metadata key 'a' occurs twice"));
  CHECK_THAT(refusal(GgufBuilder().raw("k", 13, "").str() + std::string(8, '\0')), says("unknown type 13"));
  CHECK_THAT(refusal(GgufBuilder().raw("k", 1u << 31, "").str() + std::string(8, '\0')), says("unknown type"));
  CHECK_THAT(refusal_of_value(GgufType::boolean, "\2"), says("neither 0 nor 1"));
  CHECK_THAT(refusal_of_value(GgufType::array, llm_test::gguf_array(GgufType::boolean, 2) + "\1\3"), says("neither 0 nor 1"));
  for (const std::uint32_t type : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u}) {
    CAPTURE(type);
    const std::string file = llm_test::le(std::uint32_t{0x46554747}) + le(std::uint32_t{3}) + le(std::uint64_t{0}) + le(std::uint64_t{1}) +
                             llm_test::gguf_text("k") + le(type);
    CHECK_THAT(refusal(file), says("test.gguf: "));
  }
}

TEST_CASE("more dimensions than four are refused [gguf_dims]") {
  CHECK(refusal_of_tensor({2, 2, 2, 2}, 0).empty());
  for (const std::size_t count : {std::size_t{5}, std::size_t{9}}) {
    CAPTURE(count);
    CHECK_THAT(refusal_of_tensor(std::vector<std::uint64_t>(count, 1), 0), says("dimensions, the format's limit is 4"));
  }
  GgufBuilder builder;
  builder.zeros("t", {2, 2});
  std::string file = builder.str();
  file.replace(24 + 8 + 1, 4, le(UINT32_MAX));  // after the header's 24 bytes and the name
  CHECK_THAT(refusal(file), says("4294967295 dimensions"));
}

TEST_CASE("extents whose product wraps are refused [gguf_mul]") {
  constexpr std::uint64_t two32 = std::uint64_t{1} << 32, inverse_of_3 = 0xaaaaaaaaaaaaaaab;
  CHECK_THAT(refusal_of_tensor({two32, two32}, 0), says("2^63 bytes or more"));     // product 0
  CHECK_THAT(refusal_of_tensor({inverse_of_3, 3}, 0), says("2^63 bytes or more"));  // product 1
  CHECK_THAT(refusal_of_tensor({3, inverse_of_3}, 0), says("2^63 bytes or more"));
  CHECK_THAT(refusal_of_tensor({65536, 65536, 65536, 65536}, 24), says("2^63 bytes or more"));
  CHECK_THAT(refusal_of_tensor({std::uint64_t{1} << 62}, 0), says("2^63 bytes or more"));  // 2^64 bytes
  CHECK_THAT(refusal_of_tensor({two32, two32 / 8}, 28), says("2^63 bytes or more"));
  CHECK_THAT(refusal_of_tensor({UINT64_MAX}, 24), says("2^63 bytes or more"));
  CHECK_THAT(refusal_of_tensor({0, two32, two32}, 0), says("2^63 bytes or more"));  // a 0 hides no overflow
  CHECK_THAT(refusal_of_tensor({two32, 0, two32}, 0), says("2^63 bytes or more"));
  CHECK_THAT(refusal_of_tensor({two32, two32}, 8), says("2^63 bytes or more"));  // blocks
  CHECK(refusal_of_tensor({0, 1000}, 0).empty());
}

TEST_CASE("element types: known ones are sized, unknown and removed ones refused [gguf_hdr]") {
  for (std::uint32_t type = 0; type < 45; ++type) {
    CAPTURE(type);
    const auto* known = llm::detail::gguf::find_element_type(type);
    const bool removed = type == 4 || type == 5 || (type >= 31 && type <= 33) || (type >= 36 && type <= 38) || type > 41;
    CHECK((known == nullptr) == removed);
    if (known == nullptr) {
      CHECK_THAT(refusal_of_tensor({256, 1}, type), says("unknown or removed element type"));
      continue;
    }
    const auto elements = static_cast<std::uint64_t>(known->elements), bytes = static_cast<std::uint64_t>(known->bytes);
    CHECK(refusal_of_tensor({elements, 4096 / bytes}, type).empty());
    CHECK_THAT(refusal_of_tensor({elements, 4096 / bytes + 1}, type), says("do not lie in the file's 4096 bytes"));
    if (elements > 1) CHECK_THAT(refusal_of_tensor({elements + 1, elements}, type), says("not a whole number of"));
  }
  CHECK_THAT(refusal_of_tensor({4}, UINT32_MAX), says("element type 4294967295"));
}

TEST_CASE("tensors that do not lie in the file, or in each other's bytes, are refused [gguf_hdr]") {
  CHECK(refusal_of_tensor({1024}, 0).empty());
  CHECK_THAT(refusal_of_tensor({1025}, 0), says("its 4100 bytes at offset 0 do not lie in the file's 4096 bytes"));
  CHECK(refusal_of_tensor({8}, 0, 4064).empty());
  CHECK_THAT(refusal_of_tensor({9}, 0, 4064), says("do not lie"));
  CHECK_THAT(refusal_of_tensor({1}, 0, 4096), says("do not lie"));
  CHECK_THAT(refusal_of_tensor({1}, 0, 8), says("no multiple of the alignment 32"));
  CHECK_THAT(refusal_of_tensor({1}, 0, std::uint64_t{1} << 63), says("exceeds 2^63"));
  CHECK_THAT(refusal_of_tensor({1}, 0, UINT64_MAX - 31), says("exceeds 2^63"));
  CHECK_THAT(refusal_of_tensor({1}, 0, (std::uint64_t{1} << 63) - 32), says("do not lie"));
  CHECK_THAT(refusal_of_tensor({std::uint64_t{1} << 60}, 0, (std::uint64_t{1} << 63) - 32), says("do not lie"));
  const auto two = [](std::uint64_t a, std::uint64_t b, std::uint64_t elements = 16) {
    GgufBuilder builder;
    builder.entry("a", {elements}, 0, a).entry("b", {elements}, 0, b);
    builder.data.resize(256);
    return refusal(builder.str());
  };
  CHECK(two(0, 64).empty());
  CHECK(two(64, 0).empty());
  CHECK(two(0, 128).empty());
  CHECK_THAT(two(0, 0), says("overlap"));
  CHECK_THAT(two(0, 32), says("tensor 'b': its 64 bytes at offset 32 overlap a tensor that ends at 64"));
  CHECK_THAT(two(32, 0), says("tensor 'a': its 64 bytes at offset 32 overlap"));
  CHECK(two(0, 0, 0).empty());
}

TEST_CASE("tensor names that break the format are refused [gguf_hdr]") {
  const auto named = [](const std::string& name) { return refusal(GgufBuilder().zeros(name, {1}).str()); };
  CHECK(named(std::string(64, 'n')).empty());
  CHECK_THAT(named(std::string(65, 'n')), says("65 bytes long, the format's limit is 64"));
  CHECK_THAT(named(""), says("tensor name is empty"));
  CHECK_THAT(named("\x1b[31m"), says("'?[31m' has characters other than printable ASCII"));
  CHECK_THAT(refusal(GgufBuilder().zeros("a", {1}).zeros("b", {1}).zeros("a", {1}).str()), says("tensor name 'a' occurs twice"));
}

TEST_CASE("a GGUF header cut short anywhere is refused [gguf_hdr]") {
  GgufBuilder builder;
  builder.text("general.architecture", "llama")
      .texts("tokens", {"a", "bb", ""})
      .flag("f", true)
      .f32("g", 1)
      .zeros("t", {2, 3})
      .zeros("u", {4});
  const std::string file = builder.str();
  const std::size_t last = file.size() - 16;  // the padding after the last tensor may be missing
  for (std::size_t length = 0; length < last; ++length) {
    CAPTURE(length);
    CHECK_THAT(refusal(file.substr(0, length)), says("test.gguf: "));
  }
  CHECK(refusal(file.substr(0, last)).empty());
}

#if defined(LLM_TEST_MEASURES_MEMORY)

TEST_CASE("refusing a bad GGUF file takes less than 16 MiB of memory [gguf_hdr]") {
  const llm_test::TemporaryFolder folder;
  const std::string path = folder / "bad.gguf";
  constexpr std::size_t large = 40'000'000;
  const auto check = [&](const std::string& expected, const std::string& content) {
    CAPTURE(expected);
    llm_test::write_file(path, content);
    CHECK(llm_test::refusal_is_cheap([&] { llm::GgufFile::open(path); }, expected.c_str()));
  };
  const auto cut = [](GgufBuilder builder) {  // one more key is claimed than there is
    ++builder.pair_count;
    return builder.header();
  };
  const auto counts = [](std::uint64_t count) {
    GgufBuilder builder;
    builder.tensor_count = builder.pair_count = count;
    return builder.header() + std::string(large, '\0');
  };
  check("claims 4294967295 tensors", counts(UINT32_MAX));
  check("more than the limit of 65536", counts(65537));
  const std::string missing = "metadata key takes 8 bytes, 0 are left";
  check(missing, cut(GgufBuilder().texts("many strings", std::vector<std::string>(large / 12, "abcd"))));
  check(missing, cut(GgufBuilder().text("long string", std::string(large, 'x'))));
  check(missing,
        cut(GgufBuilder().raw("many bools", GgufType::array, llm_test::gguf_array(GgufType::boolean, large) + std::string(large, '\1'))));
  std::string arrays = llm_test::gguf_array(GgufType::array, large / 12);
  for (std::size_t i = 0; i < large / 12; ++i) arrays += llm_test::gguf_array(GgufType::u8, 0);
  check(missing, cut(GgufBuilder().raw("many arrays", GgufType::array, arrays)));

  GgufBuilder keys, long_keys, tensors, overlap;
  const std::string stem(35, '.');
  for (std::uint32_t i = 0; i < 65535; ++i) {
    const std::string name = stem + std::to_string(i);
    keys.text(name, std::string(500, 'v'));
    if (i < 600) long_keys.u32(name + std::string(65000, 'k'), 1);
    tensors.entry(name, {0, 1, 1, 1}, 0, 0);
    overlap.entry(name, {8, 1, 1, 1}, 0, std::uint64_t{32} * i);
  }
  overlap.data.resize(std::size_t{32} * 65535);
  check(missing, cut(keys));
  check("occurs twice", keys.text(stem + "7", "").str());
  check("metadata keys take more than the limit", long_keys.str());
  check("occurs twice", tensors.entry(stem + "7", {0}, 0, 0).str());
  check("overlap", overlap.entry("t", {1}, 0, 32).str());
}

TEST_CASE("opening a file with a vocabulary of 256k tokens costs little memory") {
  const llm_test::TemporaryFolder folder;
  const std::string path = folder / "vocabulary.gguf";
  std::vector<std::string> tokens;
  for (int i = 0; i < 256'000; ++i) tokens.push_back("token" + std::to_string(i));
  llm_test::write_file(path, GgufBuilder().texts("tokenizer.ggml.tokens", tokens).str());
  const int growth = llm_test::growth_kib([&] { llm::GgufFile::open(path); }, nullptr);
  CAPTURE(growth);
  CHECK(growth >= 0);
  CHECK(growth < 4 * 1024);
  const auto file = llm::GgufFile::open(path);
  const auto array = file.find_metadata("tokenizer.ggml.tokens")->array();
  REQUIRE(array);
  CHECK(array->strings() == std::vector<std::string_view>(tokens.begin(), tokens.end()));
}

#endif
