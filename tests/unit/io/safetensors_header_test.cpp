// Headers of safetensors files: what must be refused, and that refusing costs no memory.
#include <llm/io/safetensors_header.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/io/safetensors_reader.hpp>

#include <support/catch.hpp>
#include <support/resident_memory.hpp>
#include <support/temporary_folder.hpp>

static std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

static std::string file_of(std::string_view header, std::size_t data_bytes) {
  return little_endian(header.size()) + std::string(header) + std::string(data_bytes, '\1');
}

static llm::SafetensorsIndex parse(const std::string& file) {
  // An exact copy on the heap, so that a sanitizer sees any read past the end.
  const std::vector<char> copy(file.begin(), file.end());
  auto index = llm::parse_safetensors(std::as_bytes(std::span(copy)), "test.safetensors");
  for (auto& tensor : index.tensors) tensor.bytes = {};
  return index;
}

/// The error's text, "" when the file is accepted.
static std::string refusal(const std::string& file) {
  try {
    parse(file);
    return "";
  } catch (const llm::FileError& error) {
    const std::string text = error.what();
    return text.find("test.safetensors: ") == std::string::npos ? "does not name the file: " : text;
  }
}

/// The refusal of a file with one tensor "t" with these fields and so many bytes of data.
static std::string refusal(std::string_view dtype, std::string_view shape, std::string_view offsets, std::size_t data_bytes) {
  return refusal(
      file_of(llm::detail::concat(R"({"t":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":)", offsets, "}}"), data_bytes));
}

static auto says(const std::string& text) { return Catch::Contains(text); }

TEST_CASE("a good header gives names, types, shapes and metadata") {
  const auto index =
      parse(file_of(R"({"__metadata__":{"k":"v\u00e9"},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},)"
                    R"("a":{"data_offsets":[0,4],"shape":[],"dtype":"I32"},"z":{"dtype":"U8","shape":[0,3],"data_offsets":[12,12]}}  )",
                    12));
  REQUIRE(index.tensors.size() == 3);
  CHECK(index.tensors[0].name == "a");
  CHECK(index.tensors[0].shape.empty());
  CHECK(index.tensors[1].dtype == llm::DType::f32);
  CHECK(index.tensors[1].shape == std::vector<std::int64_t>{2, 1});
  CHECK(index.tensors[2].name == "z");
  CHECK(index.metadata == std::map<std::string, std::string>{{"k", "v\xc3\xa9"}});
  CHECK(refusal(file_of("{}", 0)).empty());
}

TEST_CASE("a header length that the file does not have is refused [st_hdr]") {
  const std::string rest = R"({"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})" + std::string(4, '\1');
  const std::uint64_t size = rest.size() + 8;
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7, size - 7, size,
                                     size + 1, std::uint64_t{100'000'000}, std::uint64_t{100'000'001}}) {
    CAPTURE(length);
    CHECK_THAT(refusal(little_endian(length) + rest), says("header"));
  }
  CHECK(refusal(little_endian(rest.size() - 4) + rest).empty());
  CHECK_THAT(refusal(""), says("0 bytes long"));
  CHECK_THAT(refusal("1234567"), says("7 bytes long"));
}

TEST_CASE("offsets that do not fit shape and file are refused [st_span]") {
  CHECK(refusal("F32", "[2]", "[0,8]", 8).empty());
  CHECK_THAT(refusal("F32", "[1000,1000]", "[0,4]", 4), says("span 4 bytes, but its shape and dtype take 4000000"));
  CHECK_THAT(refusal("F32", "[2]", "[8,0]", 8), says("do not lie in the file"));
  CHECK_THAT(refusal("F32", "[2]", "[4,12]", 8), says("do not lie in the file's 8 bytes"));
  CHECK_THAT(refusal("F32", "[2]", "[9223372036854775800,9223372036854775807]", 8), says("do not lie"));
  CHECK_THAT(refusal("F32", "[2]", "[-8,0]", 8), says("-8 is negative"));
  CHECK_THAT(refusal("F32", "[-2]", "[0,8]", 8), says("-2 is negative"));
  CHECK_THAT(refusal("F32", "[2]", "[]", 8), says("0 data_offsets instead of 2"));
  CHECK_THAT(refusal("F32", "[2]", "[0]", 8), says("1 data_offsets instead of 2"));
  CHECK_THAT(refusal("F32", "[2]", "[0,8,8]", 8), says("more than 2 data_offsets"));
  CHECK_THAT(refusal("F32", "[2]", "[0,8.0]", 8), says("not an integer"));
  CHECK_THAT(refusal("F32", "[2]", "[0,18446744073709551615]", 8), says("exceeds 2^63"));
  CHECK_THAT(refusal("F32", "[2]", "[0,8]", 9), says("take 8 bytes, the file has 9"));
}

TEST_CASE("gaps and overlaps between tensors are refused [st_span]") {
  const auto two = [](const char* a, const char* b, std::size_t data) {
    return refusal(file_of(llm::detail::concat(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)", a,
                                               R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)", b, "}}"),
                           data));
  };
  CHECK(two("[0,4]", "[4,8]", 8).empty());
  CHECK(two("[4,8]", "[0,4]", 8).empty());
  CHECK_THAT(two("[0,4]", "[0,4]", 8), says("begin at 0 where the tensor before ends at 4"));
  CHECK_THAT(two("[0,4]", "[2,6]", 8), says("begin at 2"));
  CHECK_THAT(two("[0,4]", "[5,9]", 9), says("take 8 bytes, the file has 9"));
  CHECK_THAT(two("[0,4]", "[3,7]", 7), says("overlap"));
}

TEST_CASE("limits on the numbers of tensors and of metadata keys are exact") {
  const auto many = [](std::size_t count, const std::string& entry, const std::string& before, const std::string& after) {
    std::string header = before;
    for (std::size_t i = 0; i < count; ++i) header += llm::detail::concat(i == 0 ? "" : ",", "\"", i, "\":", entry);
    return file_of(header + after, 0);
  };
  const std::string tensor = R"({"dtype":"I8","shape":[0],"data_offsets":[0,0]})";
  CHECK(refusal(many(llm::detail::safetensors::max_tensors, tensor, "{", "}")).empty());
  CHECK_THAT(refusal(many(llm::detail::safetensors::max_tensors + 1, tensor, "{", "}")), says("more than 262144 tensors"));
  CHECK(refusal(many(llm::detail::safetensors::max_metadata_keys, "\"\"", R"({"__metadata__":{)", "}}")).empty());
  CHECK_THAT(refusal(many(llm::detail::safetensors::max_metadata_keys + 1, "\"\"", R"({"__metadata__":{)", "}}")),
             says("more than 65536 keys"));
}

TEST_CASE("shapes whose size overflows are refused [st_overflow]") {
  CHECK_THAT(refusal("F32", "[8589934592,2147483648]", "[0,0]", 0), says("exceeds 2^63"));
  CHECK_THAT(refusal("F32", "[4611686018427387904,8]", "[0,0]", 0), says("exceeds 2^63"));
  CHECK_THAT(refusal("F64", "[4294967296,4294967296]", "[0,0]", 0), says("exceeds 2^63"));
  CHECK_THAT(refusal("F32", "[0,9223372036854775807]", "[0,0]", 0), says("exceeds 2^63"));
  CHECK_THAT(refusal("F32", "[4294967296,0,4294967296]", "[0,0]", 0), says("exceeds 2^63"));
  CHECK_THAT(refusal("U8", "[9223372036854775808]", "[0,0]", 0), says("exceeds 2^63"));
  CHECK_THAT(refusal("U8", "[99999999999999999999999]", "[0,0]", 0), says("not an integer below 2^63"));
  CHECK(refusal("F32", "[0,1000]", "[0,0]", 0).empty());
}

TEST_CASE("anything but the format's structure is refused [st_hdr]") {
  const std::string good = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  for (const std::string& header : {std::string("[]"),
                                    std::string("{"),
                                    std::string("{}}"),
                                    std::string("{} x"),
                                    std::string(" {}"),
                                    std::string("null"),
                                    std::string("{\"t\":1}"),
                                    std::string("{\"t\":null}"),
                                    std::string("{\"t\":true}"),
                                    std::string("{\"t\":[]}"),
                                    std::string("{\"t\":\"x\"}"),
                                    std::string("{\"t\":{}}"),
                                    "{\"t\":" + good + ",}",
                                    "{\"t\":" + good + ",\"t\":" + good + "}",
                                    "{'t':" + good + "}",
                                    "// c\n{\"t\":" + good + "}",
                                    std::string(R"({"t":{"dtype":"U8","shape":[1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"shape":[1],"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})"),
                                    std::string(R"({"t":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"Q9","shape":[1],"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","shape":{"a":1},"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})"),
                                    std::string(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1e0]}})"),
                                    R"({"__metadata__":{"a":1},"t":)" + good + "}",
                                    R"({"__metadata__":{"a":{}},"t":)" + good + "}",
                                    R"({"__metadata__":[],"t":)" + good + "}",
                                    R"({"__metadata__":{"a":"1","a":"2"},"t":)" + good + "}",
                                    R"({"__metadata__":{},"__metadata__":{},"t":)" + good + "}",
                                    "{\"t\xff\":" + good + "}",
                                    "{\"t\\ud800\":" + good + "}",
                                    "{\"t\n\":" + good + "}",
                                    "{\"t\":" + good + std::string("\0}", 2)}) {
    CAPTURE(header);
    CHECK_THAT(refusal(file_of(header, 1)), says("test.safetensors: "));
  }
  CHECK(refusal(file_of("{\"t\":" + good + "}", 1)).empty());
  CHECK_THAT(refusal(file_of("{\"t\":" + good + ",\"t\":" + R"({"dtype":"U8","shape":[0],"data_offsets":[1,1]}})", 1)),
             says("'t' occurs twice"));
}

TEST_CASE("types that the library lacks are checked and listed, and refused when asked for") {
  const llm_test::TemporaryFolder folder;
  llm_test::write_file(folder / "f", file_of(R"({"a":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F4","shape":[4],)"
                                             R"("data_offsets":[3,5]},"c":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}})",
                                             6));
  const auto file = llm::SafetensorsFile::open(folder / "f");
  CHECK(file.tensors().size() == 1);
  REQUIRE(file.unsupported().size() == 2);
  CHECK(file.unsupported()[1].dtype == "F4");
  CHECK_THROWS_WITH(file.find("a"), Catch::Contains("'a' has the unsupported dtype F8_E4M3"));
  CHECK(file.at("c").bytes.size() == 1);
  for (const auto& [name, extent] : {std::pair("a", 3), std::pair("b", 4), std::pair("c", 1)}) {
    REQUIRE(file.find_shape(name) != nullptr);
    CHECK(*file.find_shape(name) == std::vector<std::int64_t>{extent});
  }
  CHECK(file.find_shape("d") == nullptr);
  CHECK_THAT(refusal("I16", "[3]", "[0,3]", 3), says("take 6"));
  CHECK_THAT(refusal("F4", "[3]", "[0,2]", 2), says("whole bytes"));
}

TEST_CASE("messages stay one short line whatever a file's names hold [st_hdr]") {
  const std::string message =
      refusal(file_of("{\"\\u001b[31m" + std::string(5000, 'n') + R"(":{"dtype":"U8","shape":[9],"data_offsets":[0,1]}})", 1));
  CHECK_THAT(message, says("?[31mnnn"));
  CHECK(message.size() < 400);
  CHECK(message.find('\x1b') == std::string::npos);
}

#if defined(LLM_TEST_MEASURES_MEMORY)

TEST_CASE("refusing a bad file takes less than 16 MiB of memory [st_alloc]") {
  const llm_test::TemporaryFolder folder;
  const std::string path = folder / "bad";
  constexpr std::size_t large = 40'000'000;
  const auto check = [&](const std::string& what, const std::string& content) {
    CAPTURE(what);
    llm_test::write_file(path, content);
    CHECK(llm_test::refusal_is_cheap([&] { llm::SafetensorsFile::open(path); }));
  };
  check("small file, large header length", little_endian(99'999'999) + "{\"");
  check("huge shape", file_of(R"({"t":{"dtype":"F32","shape":[1000000,1000000],"data_offsets":[0,4]}})", 4));
  check("nested arrays", file_of("{\"t\":" + std::string(large, '['), 0));
  std::string objects;
  while (objects.size() < large) objects += "{\"\":";
  check("nested objects", file_of(objects, 0));
  check("long name", file_of("{\"" + std::string(large, 'n'), 0));
  check("long number", file_of(R"({"t":{"shape":[)" + std::string(large, '1'), 0));
  check("spaces", file_of("{" + std::string(large, ' ') + "}", 0));
  std::string shape = R"({"t":{"shape":[0)";
  while (shape.size() < large) shape += ",0";
  check("long shape", file_of(shape, 0));
  std::string metadata = R"({"__metadata__":{"0":"")";
  for (int i = 1; metadata.size() < large; ++i) metadata += ",\"" + std::to_string(i) + "\":\"" + std::string(1000, 'v') + "\"";
  check("much metadata, then an error", file_of(metadata + "}]", 0));
  std::string tensors = R"({"0":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  for (int i = 1; tensors.size() < large; ++i)
    tensors += ",\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  check("many tensors, then an error", file_of(tensors + "]", 0));
  check("many tensors, then a byte too much", file_of(tensors + "}", 1));
  check("more tensors than the limit", file_of(tensors + "}", 0));
  const std::string again = R"(,"1":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  tensors.resize(tensors.find(R"(,"250000":)"));
  check("many tensors, one of them twice", file_of(tensors + again + "}", 0));
  check(
      "many tensors, then a gap and an overlap",
      file_of(tensors + R"(,"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 4));
  std::string keys = R"({"__metadata__":{"0":"")";
  for (int i = 1; keys.size() < large; ++i) keys += ",\"" + std::to_string(i) + "\":\"\"";
  check("more metadata than the limit", file_of(keys + "}}", 0));
  keys.resize(keys.find(R"(,"60000":)"));
  check("much metadata, one key twice", file_of(keys + R"(,"1":""}})", 0));
}

#endif
