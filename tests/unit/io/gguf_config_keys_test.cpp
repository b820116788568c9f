// Keys of GGUF metadata that are unknown, missing, of the wrong type, or contradict each other.
#include <llm/io/gguf_config_keys.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/gguf_model.hpp>
#include <support/resident_memory.hpp>
#include <support/temporary_folder.hpp>

using namespace llm_test;
using llm::GgufFile;

static auto says(const std::string& text) { return Catch::Contains(text); }

TEST_CASE("an unknown architecture, key or kind of file is an error, never a guess") {
  CHECK_THAT(GgufModel("mamba").refusal(), says("architecture 'mamba' is not known"));
  CHECK_THAT(GgufModel("").refusal(), says("architecture '' is not known"));
  CHECK_THAT(GgufModel("llama4").refusal(), says("architecture 'llama4' is not known"));
  CHECK_THAT(GgufModel("llama").f32("attention.clamp_kqv", 8).refusal(), says("key 'llama.attention.clamp_kqv' is unknown"));
  CHECK_THAT(GgufModel("qwen3").u32("expert_count", 8).refusal(), says("key 'qwen3.expert_count' is unknown"));
  CHECK_THAT(GgufModel("llama").text("tensor_data_layout", "other").refusal(), says("is 'other', which is not known"));
  CHECK_THAT(GgufModel("llama").flag("attention.causal", false).refusal(), says("attention.causal' is false"));
  const auto after = [](const std::function<void(GgufBuilder&)>& change) {
    GgufModel model("llama");
    change(model.builder);
    return model.refusal();
  };
  CHECK(after([](GgufBuilder& b) { b.text("general.type", "model").u32("split.count", 1).u32("llamas.x", 1).u32("other.x", 1); }).empty());
  CHECK_THAT(after([](GgufBuilder& b) { b.text("general.type", "adapter"); }), says("general.type is not 'model'"));
  CHECK_THAT(after([](GgufBuilder& b) { b.u32("general.type", 1); }), says("general.type is not 'model'"));
  CHECK_THAT(after([](GgufBuilder& b) { b.u32("split.count", 3); }), says("split into several files"));
  const std::string none = GgufBuilder().zeros("t", {1}).str();
  CHECK_THROWS_WITH(llm::read_gguf_config(GgufFile::view(std::as_bytes(std::span(none)), "test.gguf")),
                    says("test.gguf: has no key 'general.architecture'"));
}

TEST_CASE("keys that are missing, of the wrong type or out of range are errors that name the key") {
  for (const char* key : {"context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count",
                          "attention.layer_norm_rms_epsilon"})
    CHECK_THAT(GgufModel("llama", {key}).refusal(), says("key 'llama." + std::string(key) + "' is missing"));
  CHECK_THAT(GgufModel("llama", {"token_embd.weight"}).refusal(), says("has no tensor 'token_embd.weight'"));

  const auto with = [](const std::string& key, llm::GgufType type, const std::string& value) {
    GgufModel model("llama", {key});
    model.builder.raw("llama." + key, type, value);
    return model.refusal();
  };
  using llm::GgufType;
  using llm_test::le;
  CHECK(with("block_count", GgufType::u64, le(std::uint64_t{2})).empty());
  CHECK(with("block_count", GgufType::i16, le(std::int16_t{2})).empty());
  CHECK(with("attention.layer_norm_rms_epsilon", GgufType::f64, le(std::bit_cast<std::uint64_t>(1e-6))).empty());
  CHECK_THAT(with("block_count", GgufType::i32, le(std::int32_t{-2})), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::u32, le(UINT32_MAX)), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::u64, le(UINT64_MAX)), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::f32, gguf_floats({2})), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::string, llm_test::gguf_text("2")), says("no integer from 0 to 2^31 - 1"));
  CHECK_THAT(with("block_count", GgufType::u32, le(std::uint32_t{0})), says("llm::Config: n_layers"));
  CHECK_THAT(with("feed_forward_length", GgufType::array, llm_test::gguf_array(GgufType::u32, 1) + le(std::uint32_t{96})),
             says("key 'llama.feed_forward_length' is an array: layers that differ in it are not supported"));
  for (const char* key : {"attention.head_count", "attention.head_count_kv", "attention.key_length", "rope.dimension_count"})
    CHECK_THAT(with(key, GgufType::u32, le(std::uint32_t{0})), says("key 'llama." + std::string(key) + "' is 0"));
  const std::string eps = "attention.layer_norm_rms_epsilon";
  CHECK_THAT(with(eps, GgufType::u32, le(std::uint32_t{1})), says("no finite floating-point number"));
  CHECK_THAT(with(eps, GgufType::f32, gguf_floats({std::nanf("")})), says("no finite floating-point number"));
  CHECK_THAT(with(eps, GgufType::f32, gguf_floats({INFINITY})), says("no finite floating-point number"));
  CHECK_THAT(with(eps, GgufType::f32, gguf_floats({0})), says("llm::Config: norm_eps"));
  CHECK_THAT(with("attention.causal", GgufType::u8, le(std::uint8_t{1})), says("is no bool"));
}

TEST_CASE("sizes that contradict each other are errors") {
  CHECK_THAT(GgufModel("llama").u32("vocab_size", 11).refusal(), says("vocab_size' is 11, but 'token_embd.weight' has 10 rows"));
  const auto with_tokens = [](std::size_t count) {
    GgufModel model("llama");
    model.builder.texts("tokenizer.ggml.tokens", std::vector<std::string>(count, "t"));
    return model.refusal();
  };
  CHECK(with_tokens(10).empty());
  CHECK_THAT(with_tokens(9), says("has 9 tokens, but 'token_embd.weight' has 10 rows"));
  GgufModel no_array("llama");
  no_array.builder.u32("tokenizer.ggml.tokens", 10);
  CHECK_THAT(no_array.refusal(), says("tokenizer.ggml.tokens' is no array"));
  GgufModel wide("llama", {"embedding_length"});
  wide.builder.u32("llama.embedding_length", 32);
  CHECK_THAT(wide.refusal(), says("embedding_length' is 32, but 'token_embd.weight' has rows of 64"));
  CHECK_THAT(GgufModel("llama", {"token_embd.weight"}).zeros("token_embd.weight", {640}).refusal(), says("has 1 dimensions, expected 2"));
  CHECK_THAT(GgufModel("llama").u32("attention.key_length", 20).u32("attention.value_length", 16).refusal(),
             says("value_length' is 16, but keys are 20 wide"));
  GgufModel heads("llama", {"attention.head_count"});
  heads.builder.u32("llama.attention.head_count", 5);
  CHECK_THAT(heads.refusal(), says("key_length' is missing, and embedding_length is no multiple"));
  CHECK_THAT(GgufModel("llama").u32("rope.dimension_count", 18).refusal(), says("rope_dim"));
  GgufModel unsupported_type("llama", {"token_embd.weight"});
  unsupported_type.builder.tensor("token_embd.weight", {64, 10}, 24, std::string(640, '\0'));
  CHECK(unsupported_type.refusal().empty());
}

#if defined(LLM_TEST_MEASURES_MEMORY)

TEST_CASE("refusing strings as long as the file takes less than 16 MiB of memory [gguf_hdr]") {
  const llm_test::TemporaryFolder folder;
  const std::string path = folder / "bad.gguf", endless(40'000'000, 'x');
  for (const GgufModel& model :
       {GgufModel("llama").text("rope.scaling.type", endless), GgufModel("llama").text("tensor_data_layout", endless)}) {
    llm_test::write_file(path, model.builder.str());
    CHECK(llm_test::refusal_is_cheap([&] { llm::read_gguf_config(GgufFile::open(path)); }));
  }
  llm_test::write_file(path, GgufBuilder().text("general.architecture", endless).str());
  CHECK(llm_test::refusal_is_cheap([&] { llm::read_gguf_config(GgufFile::open(path)); }));
}

#endif
