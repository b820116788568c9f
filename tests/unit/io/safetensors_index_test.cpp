// The index of sharded models: what it gives, what must be refused, and that refusing costs no memory.
#include <llm/io/safetensors_index.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>
#include <support/resident_memory.hpp>
#include <support/temporary_folder.hpp>

static llm::SafetensorsShards parse(std::string_view text) {
  // An exact copy on the heap, so that a sanitizer sees any read past the end.
  const std::vector<char> copy(text.begin(), text.end());
  return llm::parse_safetensors_index(std::as_bytes(std::span(copy)), "m.index.json");
}

/// The error's text, "" when the index is accepted.
static std::string refusal(std::string_view text) {
  try {
    parse(text);
    return "";
  } catch (const llm::FileError& error) {
    const std::string what = error.what();
    return what.find("m.index.json: ") == std::string::npos ? "does not name the file: " + what : what;
  }
}

static std::string refusal_of_file(std::string_view name) { return refusal(R"({"weight_map":{"t":")" + std::string(name) + "\"}}"); }

static auto says(const std::string& text) { return Catch::Contains(text); }

TEST_CASE("the golden index names its tensors and files") {
  const auto shards = llm::read_safetensors_index(LLM_TEST_DATA "/goldens/hf/llama_sharded/model.safetensors.index.json");
  REQUIRE(shards.files.size() == 3);
  REQUIRE(shards.tensors.size() == 21);
  CHECK(shards.tensors.front().first == "lm_head.weight");
  CHECK(shards.files.at(shards.tensors.front().second) == "model-00003-of-00003.safetensors");
  CHECK(shards.tensors.back().first == "model.norm.weight");
  CHECK(shards.files.at(shards.tensors.back().second) == "model-00002-of-00003.safetensors");
  CHECK(shards.files.at(shards.tensors.at(1).second) == "model-00001-of-00003.safetensors");
  CHECK(shards.total_size == 107136);
}

TEST_CASE("total_size and other metadata may be missing") {
  const auto shards = parse(R"({"weight_map":{"b":"2.safetensors","a":"1.safetensors","c":"2.safetensors"}})");
  CHECK(shards.files == std::vector<std::string>{"2.safetensors", "1.safetensors"});
  CHECK(shards.tensors == std::vector<std::pair<std::string, std::size_t>>{{"b", 0}, {"a", 1}, {"c", 0}});
  CHECK_FALSE(shards.total_size.has_value());
  const auto with = [](std::string_view metadata) {
    return parse(R"({"metadata":)" + std::string(metadata) + R"(,"weight_map":{"t":"s.safetensors"}})").total_size;
  };
  CHECK(with("{}") == std::nullopt);
  CHECK(with(R"({"total_size":8,"mergekit_version":"0.1","x":[{"total_size":null},true,-1]})") == 8);
  CHECK(with(R"({"x":[{"total_size":-4}],"total_size":16060522496.0})") == 16060522496);
}

TEST_CASE("a file must be a plain name of a safetensors file in the folder") {
  for (const char* good : {"s.safetensors", "model-00001-of-000163.safetensors", "a b-\xc3\xa9.safetensors"}) {
    CAPTURE(good);
    CHECK(refusal_of_file(good) == "");
  }
  for (const char* bad : {"",
                          ".",
                          "..",
                          "../s.safetensors",
                          "/etc/s.safetensors",
                          "a/s.safetensors",
                          "a\\\\s.safetensors",
                          "C:s.safetensors",
                          ".safetensors",
                          "..safetensors",
                          ".s.safetensors",
                          "s.bin",
                          "s.safetensors/",
                          "s.safetensors\\u0000",
                          "s\\n.safetensors",
                          "~/s.safetensors",
                          "s.safetensors.index.json",
                          "http://x/s.safetensors",
                          "s*.safetensors",
                          "s\\u007f.safetensors"}) {
    CAPTURE(bad);
    CHECK_THAT(refusal_of_file(bad), says("tensor 't': ") && says("is no plain name of a .safetensors file in the index's folder"));
  }
  CHECK(refusal_of_file(std::string(243, 's') + ".safetensors") == "");
  CHECK_THAT(refusal_of_file(std::string(244, 's') + ".safetensors"), says("is no plain name"));
}

TEST_CASE("refused: other structures, other types, names that occur twice") {
  CHECK_THAT(refusal(""), says("is not valid JSON"));
  CHECK_THAT(refusal("7"), says("unexpected a number"));
  CHECK_THAT(refusal("[]"), says("unexpected an array"));
  CHECK_THAT(refusal("{}"), says("has no weight_map"));
  CHECK_THAT(refusal(R"({"weight_map":{"t":"s.safetensors"}}x)"), says("is not valid JSON"));
  CHECK_THAT(refusal(R"({"weight_map":{}})"), says("weight_map names no tensors"));
  CHECK_THAT(refusal(R"({"weight_map":[]})"), says("unexpected an array"));
  CHECK_THAT(refusal(R"({"weight_map":null})"), says("unexpected null"));
  CHECK_THAT(refusal(R"({"weight_map":{"t":{}}})"), says("unexpected an object"));
  CHECK_THAT(refusal(R"({"weight_map":{"t":["s.safetensors"]}})"), says("unexpected an array"));
  CHECK_THAT(refusal(R"({"weight_map":{"t":0}})"), says("unexpected a number"));
  CHECK_THAT(refusal(R"({"weight_map":{"t":true}})"), says("unexpected a boolean"));
  CHECK_THAT(refusal(R"({"weight_map":{"":"s.safetensors"}})"), says("a tensor's name has 0 bytes"));
  CHECK_THAT(refusal(R"({"weight_map":{")" + std::string(5000, 't') + R"(":"s.safetensors"}})"), says("a tensor's name has 5000 bytes"));
  CHECK_THAT(refusal(R"({"weights":{"t":"s.safetensors"}})"), says("key 'weights' is unknown"));
  CHECK_THAT(refusal(R"({"metadata":[],"weight_map":{"t":"s.safetensors"}})"), says("unexpected an array"));
  CHECK_THAT(refusal(R"({"metadata":"x","weight_map":{"t":"s.safetensors"}})"), says("unexpected a string"));
  for (const char* size : {"-1", "0.5", "1e300", "9223372036854775808", "-1.0"})
    CHECK_THAT(refusal(R"({"metadata":{"total_size":)" + std::string(size) + "}}"), says("metadata.total_size is "));
  CHECK_THAT(refusal(R"({"metadata":{"total_size":"8"}})"), says("unexpected a string"));
  CHECK_THAT(refusal(R"({"metadata":{"total_size":{}}})"), says("unexpected an object"));
  CHECK_THAT(refusal(R"({"metadata":{"total_size":1,"total_size":1}})"), says("metadata.total_size occurs twice"));
  CHECK_THAT(refusal(R"({"metadata":{},"metadata":{}})"), says("metadata occurs twice"));
  CHECK_THAT(refusal(R"({"weight_map":{"t":"s.safetensors"},"weight_map":{"u":"s.safetensors"}})"), says("weight_map occurs twice"));
  CHECK_THAT(refusal(R"({"weight_map":{"t":"s.safetensors","u":"s.safetensors","t":"s.safetensors"}})"),
             says("weight_map names a tensor twice"));
  CHECK_THAT(refusal(R"({"metadata":{"a":)" + std::string(15, '[')), says("nested deeper than 16 levels"));
  CHECK_THROWS_WITH(llm::read_safetensors_index("/nowhere/m.index.json"), says("/nowhere/m.index.json"));
}

/// An index of so many tensors with names as long as DeepSeek-V3's.
static std::string large_index(int tensors, std::string_view last) {
  std::string text = R"({"metadata":{"total_size":688586727753},"weight_map":{)";
  for (int i = 0; i < tensors; ++i)
    text += "\"model.layers.60.mlp.experts." + std::to_string(i) + R"(.down_proj.weight_scale_inv":"model-)" + std::to_string(i % 163) +
            "-of-000163.safetensors\",";
  return text + std::string(last);
}

TEST_CASE("an index as large as DeepSeek-V3's is read") {
  const auto shards = parse(large_index(91990, R"("lm_head.weight":"model-0-of-000163.safetensors"}})"));
  CHECK(shards.tensors.size() == 91991);
  CHECK(shards.files.size() == 163);
  CHECK(shards.total_size == 688586727753);
}

#if defined(LLM_TEST_MEASURES_MEMORY)

TEST_CASE("refusing a bad index takes less than 16 MiB of memory") {
  const llm_test::TemporaryFolder folder;
  const std::string path = folder / "m.index.json";
  const auto check = [&](const std::string& what, const std::string& content) {
    CAPTURE(what);
    llm_test::write_file(path, content);
    CHECK(llm_test::refusal_is_cheap([&] { llm::read_safetensors_index(path); }));
  };
  constexpr std::size_t large = 40'000'000;
  const std::string twice = R"("model.layers.60.mlp.experts.0.down_proj.weight_scale_inv":"s.safetensors"}})";
  check("many tensors, then one again", large_index(400000, twice));
  check("many tensors, then a path", large_index(400000, R"("t":"../s.safetensors"}})"));
  check("too many tensors", large_index(600000, R"("t":"s.safetensors"}})"));
  check("too large", R"({"weight_map":{"t":"s.safetensors"}})" + std::string(70'000'000, ' '));
  check("nested arrays", R"({"metadata":{"a":)" + std::string(large, '['));
  check("long name", R"({"weight_map":{")" + std::string(large, 'n'));
  check("long number", R"({"metadata":{"total_size":)" + std::string(large, '1'));
  std::string values = R"({"metadata":{"a":[0)";
  while (values.size() < large) values += ",0";
  check("much metadata, then an error", values);
}

#endif
