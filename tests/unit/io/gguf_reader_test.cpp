// Reading GGUF files: one that another program wrote, truncation, metadata values of every type.
#include <llm/io/gguf_reader.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/gguf_builder.hpp>
#include <support/temporary_folder.hpp>

using llm::DType;
using llm::GgufFile;
using llm::GgufType;
using llm_test::GgufBuilder;
using llm_test::le;

static const std::string golden = LLM_TEST_DATA "/goldens/tiny.gguf";

struct ExpectedTensor {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t offset, bytes;
};

/// What the Python package gguf says of tiny.gguf, shapes turned round.
static const std::vector<ExpectedTensor>& expected_tensors() {
  static const std::vector<ExpectedTensor> all{
      {"token_embd.weight", DType::f16, {500, 32}, 12576, 32000},      {"blk.0.attn_norm.weight", DType::f32, {32}, 44576, 128},
      {"blk.0.attn_q.weight", DType::q8_0, {32, 32}, 44704, 1088},     {"blk.0.attn_k.weight", DType::q4_0, {16, 32}, 45792, 288},
      {"blk.0.attn_v.weight", DType::q4_1, {16, 32}, 46080, 320},      {"blk.0.attn_output.weight", DType::q5_0, {32, 32}, 46400, 704},
      {"blk.0.ffn_norm.weight", DType::f32, {32}, 47104, 128},         {"blk.0.ffn_gate.weight", DType::q5_1, {256, 32}, 47232, 6144},
      {"blk.0.ffn_up.weight", DType::f16, {256, 32}, 53376, 16384},    {"blk.0.ffn_down.weight", DType::q6_k, {32, 256}, 69760, 6720},
      {"blk.1.attn_norm.weight", DType::f32, {32}, 76480, 128},        {"blk.1.attn_q.weight", DType::f32, {32, 32}, 76608, 4096},
      {"blk.1.attn_k.weight", DType::q5_1, {16, 32}, 80704, 384},      {"blk.1.attn_v.weight", DType::bf16, {16, 32}, 81088, 1024},
      {"blk.1.attn_output.weight", DType::f16, {32, 32}, 82112, 2048}, {"blk.1.ffn_norm.weight", DType::f32, {32}, 84160, 128},
      {"blk.1.ffn_gate.weight", DType::q4_0, {256, 32}, 84288, 4608},  {"blk.1.ffn_up.weight", DType::q8_0, {256, 32}, 88896, 8704},
      {"blk.1.ffn_down.weight", DType::q4_k, {32, 256}, 97600, 4608},  {"output_norm.weight", DType::f32, {32}, 102208, 128},
      {"output.weight", DType::q8_0, {500, 32}, 102336, 17000}};
  return all;
}

TEST_CASE("a file written by the Python package has the tensors that the package says") {
  const auto file = GgufFile::open(golden);
  CHECK(file.path() == golden);
  CHECK(file.version() == 3);
  CHECK(file.unsupported().empty());
  REQUIRE(file.tensors().size() == expected_tensors().size());
  const std::string content = llm_test::read_file(golden);
  for (std::size_t i = 0; i < expected_tensors().size(); ++i) {
    const ExpectedTensor& expected = expected_tensors()[i];
    CAPTURE(expected.name);
    const auto& tensor = file.tensors()[i];
    CHECK(tensor.name == expected.name);
    CHECK(tensor.dtype == expected.dtype);
    CHECK(tensor.shape == expected.shape);
    CHECK(tensor.offset == expected.offset);
    REQUIRE(tensor.bytes.size() == expected.bytes);
    const auto bytes = std::as_bytes(std::span(content)).subspan(expected.offset, expected.bytes);
    CHECK(std::equal(bytes.begin(), bytes.end(), tensor.bytes.begin()));
  }
}

TEST_CASE("a file written by the Python package has the metadata that the package says") {
  const auto file = GgufFile::open(golden);
  REQUIRE(file.metadata().size() == 21);
  CHECK(file.metadata()[0].key == "general.architecture");
  CHECK(file.metadata()[20].key == "tokenizer.ggml.add_bos_token");
  const auto text = [&](const char* key) { return file.find_metadata(key)->text(); };
  const auto integer = [&](const char* key) { return file.find_metadata(key)->integer(); };
  CHECK(text("general.architecture") == "llama");
  CHECK(text("general.name") == "tiny");
  CHECK(integer("general.file_type") == 7);
  CHECK(integer("llama.context_length") == 64);
  CHECK(integer("llama.embedding_length") == 32);
  CHECK(integer("llama.block_count") == 2);
  CHECK(integer("llama.feed_forward_length") == 256);
  CHECK(integer("llama.attention.head_count") == 4);
  CHECK(integer("llama.attention.head_count_kv") == 2);
  CHECK(file.find_metadata("llama.attention.layer_norm_rms_epsilon")->floating() == 1e-5f);
  CHECK(file.find_metadata("llama.rope.freq_base")->floating() == 10000);
  CHECK(integer("llama.rope.dimension_count") == 8);
  CHECK(integer("llama.vocab_size") == 500);
  CHECK(text("tokenizer.ggml.model") == "gpt2");
  CHECK(text("tokenizer.ggml.pre") == "gpt-2");
  CHECK(integer("tokenizer.ggml.bos_token_id") == 0);
  CHECK(integer("tokenizer.ggml.eos_token_id") == 0);
  CHECK(file.find_metadata("tokenizer.ggml.add_bos_token")->boolean() == false);
  CHECK(file.find_metadata("llama.rope.freq_bas") == nullptr);
  CHECK(file.find_metadata("llama.rope.freq_base0") == nullptr);
  CHECK(file.find_metadata("") == nullptr);

  const auto tokens = file.find_metadata("tokenizer.ggml.tokens")->array()->strings();
  REQUIRE(tokens.size() == 500);
  CHECK(tokens[0] == "<|endoftext|>");
  CHECK(tokens[5] == "#");
  CHECK(tokens[499] == "\xc4\xa0S");
  std::size_t characters = 0;
  for (const std::string_view token : tokens) characters += token.size();
  CHECK(characters == 1371);
  const auto merges = file.find_metadata("tokenizer.ggml.merges")->array()->strings();
  REQUIRE(merges.size() == 241);
  CHECK(merges.front() == "t h");
  CHECK(merges.back() == "\xc4\xa0 S");
  const auto types = file.find_metadata("tokenizer.ggml.token_type")->array()->integers();
  REQUIRE(types.size() == 500);
  CHECK(std::count(types.begin(), types.end(), 3) == 3);
}

TEST_CASE("a tensor of a GGUF file is found by its name only; a missing one is null or an error naming file and tensor") {
  const auto file = GgufFile::open(golden);
  for (const auto& tensor : file.tensors()) {
    CHECK(file.find(tensor.name) == &tensor);
    CHECK(file.find_shape(tensor.name) == &tensor.shape);
  }
  CHECK(file.find("output.weigh") == nullptr);
  CHECK(file.find("") == nullptr);
  CHECK(file.find_shape("output") == nullptr);
  CHECK_THROWS_WITH(file.at("output.bias"), Catch::Contains("tiny.gguf: has no tensor 'output.bias'"));
}

TEST_CASE("what a GGUF file gives stays valid when the file object moves") {
  auto file = GgufFile::open(golden);
  const auto* entry = file.find("output.weight");
  const auto* value = file.find_metadata("general.name");
  const auto moved = std::move(file);
  CHECK(moved.find("output.weight") == entry);
  CHECK(moved.find_metadata("general.name") == value);
  CHECK(value->text() == "tiny");
  CHECK(std::to_integer<int>(entry->bytes.back()) == std::to_integer<int>(GgufFile::open(golden).at("output.weight").bytes.back()));
}

TEST_CASE("a GGUF file cut short anywhere is refused [st_trunc] [gguf_hdr]") {
  const std::string whole = llm_test::read_file(golden);
  const auto refused = [&](std::size_t length) {
    const std::vector<char> copy(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    try {
      GgufFile::view(std::as_bytes(std::span(copy)), "cut.gguf");
    } catch (const llm::FileError& error) {
      return std::string_view(error.what()).substr(0, 25) == "llm::GgufFile: cut.gguf: ";
    }
    return false;
  };
  std::vector<std::size_t> accepted;
  for (std::size_t part = 0; part < 16; ++part)
    if (!refused(whole.size() * part / 16)) accepted.push_back(whole.size() * part / 16);
  for (std::size_t length = 0; length <= expected_tensors()[0].offset; ++length)
    if (!refused(length)) accepted.push_back(length);
  const std::size_t end = expected_tensors().back().offset + expected_tensors().back().bytes;  // padding follows
  if (!refused(end - 1)) accepted.push_back(end - 1);
  CHECK(accepted.empty());
  CHECK_FALSE(refused(end));
  CHECK_FALSE(refused(whole.size()));

  const llm_test::TemporaryFolder folder;
  llm_test::write_file(folder / "cut.gguf", whole.substr(0, whole.size() / 2));
  CHECK_THROWS_WITH(GgufFile::open(folder / "cut.gguf"), Catch::Contains(folder / "cut.gguf"));
  CHECK_THROWS_WITH(GgufFile::open(folder / "none.gguf"), Catch::Contains("cannot open"));
  llm_test::write_file(folder / "empty.gguf", "");
  CHECK_THROWS_AS(GgufFile::open(folder / "empty.gguf"), llm::FileError);
}

TEST_CASE("tensors in element types that the library lacks are listed with their size, and refused when asked for") {
  GgufBuilder builder;
  builder.tensor("a", {256, 2}, 23, std::string(2 * 136, '\1')).zeros("b", {3}).tensor("c", {5}, 24, std::string(5, '\1'));
  const std::string content = builder.str();
  const auto file = GgufFile::view(std::as_bytes(std::span(content)), "f");
  CHECK(file.tensors().size() == 1);
  REQUIRE(file.unsupported().size() == 2);
  CHECK(file.unsupported()[0].type == "IQ4_XS");
  CHECK(file.unsupported()[0].shape == std::vector<std::int64_t>{2, 256});
  CHECK(file.unsupported()[0].size == 272);
  CHECK(file.unsupported()[1].type == "I8");
  CHECK(file.unsupported()[1].offset + 32 == content.size());
  CHECK_THROWS_WITH(file.find("a"), Catch::Contains("tensor 'a' has the unsupported type IQ4_XS"));
  REQUIRE(file.find_shape("a") != nullptr);
  CHECK(*file.find_shape("a") == std::vector<std::int64_t>{2, 256});
  CHECK(file.at("b").bytes.size() == 12);
}

TEST_CASE("metadata values of every type are read") {
  GgufBuilder builder;
  builder.raw("u8", GgufType::u8, le(std::uint8_t{200})).raw("i8", GgufType::i8, le(std::int8_t{-7}));
  builder.raw("u16", GgufType::u16, le(std::uint16_t{60000})).raw("i16", GgufType::i16, le(std::int16_t{-300}));
  builder.u32("u32", 4'000'000'000).raw("i32", GgufType::i32, le(std::int32_t{-70000}));
  builder.raw("u64", GgufType::u64, le(std::uint64_t{1} << 62)).raw("i64", GgufType::i64, le(std::int64_t{-1} - INT64_MAX));
  builder.raw("large", GgufType::u64, le(std::uint64_t{1} << 63));
  builder.f32("f32", 1.5f).raw("f64", GgufType::f64, le(std::bit_cast<std::uint64_t>(0.1)));
  builder.flag("yes", true).flag("no", false).text("text", "a\xff").text("empty", "");
  const std::string content = builder.str();
  const auto file = GgufFile::view(std::as_bytes(std::span(content)), "f");
  const auto value = [&](const char* key) { return *file.find_metadata(key); };
  CHECK(value("u8").integer() == 200);
  CHECK(value("i8").integer() == -7);
  CHECK(value("u16").integer() == 60000);
  CHECK(value("i16").integer() == -300);
  CHECK(value("u32").integer() == 4'000'000'000);
  CHECK(value("i32").integer() == -70000);
  CHECK(value("u64").integer() == std::int64_t{1} << 62);
  CHECK(value("i64").integer() == INT64_MIN);
  CHECK_FALSE(value("large").integer());
  CHECK(value("large").is_integer());
  CHECK(value("f32").floating() == 1.5);
  CHECK(value("f64").floating() == 0.1);
  CHECK(value("yes").boolean() == true);
  CHECK(value("no").boolean() == false);
  CHECK(value("text").text() == "a\xff");
  CHECK(value("empty").text() == "");
  CHECK(value("u16").type() == GgufType::u16);
  CHECK(llm::to_string(value("text").type()) == "string");
  // A value of another kind gives nothing.
  CHECK_FALSE(value("f32").integer());
  CHECK_FALSE(value("u8").floating());
  CHECK_FALSE(value("u8").boolean());
  CHECK_FALSE(value("u8").text());
  CHECK_FALSE(value("text").array());
  CHECK_FALSE(value("yes").integer());
}

TEST_CASE("arrays are walked where they lie, also arrays of arrays") {
  const auto floats =
      llm_test::gguf_array(GgufType::f32, 2) + le(std::bit_cast<std::uint32_t>(0.5f)) + le(std::bit_cast<std::uint32_t>(-2.f));
  const auto shorts = llm_test::gguf_array(GgufType::i16, 3) + le(std::int16_t{1}) + le(std::int16_t{-2}) + le(std::int16_t{3});
  const auto none = llm_test::gguf_array(GgufType::string, 0);
  GgufBuilder builder;
  builder.raw("nested", GgufType::array, llm_test::gguf_array(GgufType::array, 3) + floats + none + shorts);
  builder.raw("bools", GgufType::array, llm_test::gguf_array(GgufType::boolean, 2) + std::string("\1\0", 2));
  builder.raw("large", GgufType::array, llm_test::gguf_array(GgufType::u64, 1) + le(UINT64_MAX));
  const std::string content = builder.str();
  const auto file = GgufFile::view(std::as_bytes(std::span(content)), "f");
  const auto nested = file.find_metadata("nested")->array();
  REQUIRE(nested);
  CHECK(nested->size() == 3);
  CHECK(nested->element_type() == GgufType::array);
  std::vector<llm::GgufArray> inner;
  for (const llm::GgufValue element : *nested) inner.push_back(*element.array());
  REQUIRE(inner.size() == 3);
  CHECK(inner[0].numbers() == std::vector<double>{0.5, -2});
  CHECK(inner[1].strings().empty());
  CHECK(inner[2].integers() == std::vector<std::int64_t>{1, -2, 3});
  CHECK_THROWS_WITH(inner[0].strings(), Catch::Contains("GgufArray::strings: the array has elements of type f32"));
  CHECK_THROWS_AS(inner[0].integers(), llm::ValueError);
  CHECK_THROWS_AS(inner[2].numbers(), llm::ValueError);
  CHECK_THROWS_AS(file.find_metadata("large")->array()->integers(), llm::ValueError);
  std::vector<bool> flags;
  const auto bools = file.find_metadata("bools")->array();
  for (const llm::GgufValue element : *bools) flags.push_back(*element.boolean());
  CHECK(flags == std::vector<bool>{true, false});
}
