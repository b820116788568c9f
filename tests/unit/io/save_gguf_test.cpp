// Models in memory as GGUF files: every architecture that is written, every format that a matrix can have.
#include <llm/io/save_gguf.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <llm/io/load.hpp>
#include <llm/io/quant_mixture.hpp>
#include <llm/model.hpp>
#include <llm/model/freeze.hpp>
#include <support/catch.hpp>
#include <support/golden_configs.hpp>
#include <support/lively_model.hpp>
#include <support/stored_rows.hpp>
#include <support/temporary_folder.hpp>

using namespace llm_test;
using Catch::Contains;

namespace {

template <class Model>
std::vector<float> logits(const Model& model) {
  return model(two_rows<Model>()).to_vector();
}

template <const llm::Config& C>
void check_round_trip(const std::string& architecture) {
  CAPTURE(architecture);
  const TemporaryFolder folder;
  const auto model = llm::freeze(lively<llm::LLM<C>>());
  llm::save_gguf(folder / "m.gguf", model);
  CHECK(llm::GgufFile::open(folder / "m.gguf").find_metadata("general.architecture")->text() == architecture);
  CHECK(logits(llm::load<C>(folder / "m.gguf")) == logits(model));
}

constexpr llm::Config mixtral = [] {
  llm::Config c = hf_llama;
  c.experts = {.count = 4, .active = 2, .ffn_dim = 64, .normalise = true};
  return c;
}();
constexpr llm::Config wide{
    .vocab_size = 40, .d_model = 256, .n_layers = 1, .n_heads = 4, .n_kv_heads = 2, .ffn_dim = 512, .max_seq_len = 16};

}  // namespace

TEST_CASE("a model goes into a GGUF file and comes back with equal logits, whatever its family and convention of RoPE") {
  check_round_trip<hf_llama>("llama");
  check_round_trip<other_rope<hf_llama>>("llama");
  check_round_trip<hf_llama_tied>("llama");
  check_round_trip<hf_llama_rope3>("llama");
  check_round_trip<mixtral>("llama");
  check_round_trip<hf_qwen2>("qwen2");
  check_round_trip<other_rope<hf_qwen3>>("qwen3");
  check_round_trip<other_rope<hf_qwen3_moe>>("qwen3moe");
  check_round_trip<hf_gpt2>("gpt2");
}

TEMPLATE_TEST_CASE("a model that is trained becomes the file that its frozen copy does", "", float, double, llm::bf16) {
  const TemporaryFolder folder;
  const auto model = llm::LLM<wide, llm::Trainable<TestType>>::random(1);
  llm::save_gguf(folder / "trained.gguf", model);
  llm::save_gguf(folder / "frozen.gguf", llm::freeze(model));
  CHECK(read_file(folder / "trained.gguf") == read_file(folder / "frozen.gguf"));
}

TEST_CASE("matrices keep their formats bit for bit, and take others as when files are quantised; threads change nothing") {
  const TemporaryFolder folder;
  const auto model = llm::LLM<wide>::random(1);
  llm::save_gguf(folder / "f32.gguf", model);
  for (const llm::DType format : block_formats) {
    CAPTURE(llm::to_string(format));
    llm::GgufWriteOptions options;
    options.format = [&](const llm::PlannedTensor& tensor, llm::DType) { return llm::mixed_format(tensor, format, wide.n_layers); };
    llm::save_gguf(folder / "of_model.gguf", model, {}, options);
    options.threads = 3;
    llm::write_gguf(folder / "of_file.gguf", llm::GgufFile::open(folder / "f32.gguf"), options);
    CHECK(read_file(folder / "of_model.gguf") == read_file(folder / "of_file.gguf"));
    llm::save_gguf(folder / "again.gguf", llm::load<wide>(folder / "of_model.gguf"), {}, {.threads = 3});
    CHECK(read_file(folder / "again.gguf") == read_file(folder / "of_model.gguf"));
  }
}

TEST_CASE("metadata goes along; without a tokenizer the file says that there is none") {
  const TemporaryFolder folder;
  const auto model = llm::LLM<hf_llama>::random(1);
  const auto text = [&](const char* key) { return std::string(*llm::GgufFile::open(folder / "m.gguf").find_metadata(key)->text()); };
  llm::GgufMetadata more;
  more.set("general.name", "a name");
  llm::save_gguf(folder / "m.gguf", model, more);
  CHECK(text("general.name") == "a name");
  CHECK(text("tokenizer.ggml.model") == "no_vocab");
  more.set("tokenizer.ggml.model", "gpt2");
  llm::save_gguf(folder / "m.gguf", model, more);
  CHECK(text("tokenizer.ggml.model") == "gpt2");
}

TEST_CASE("what GGUF cannot hold is an error that names it, and the old file stays") {
  const TemporaryFolder folder;
  write_file(folder / "m.gguf", "old");
  const std::string path = folder / "m.gguf";
  CHECK_THROWS_AS(llm::save_gguf(path, llm::LLM<hf_mistral>::random(1)), llm::ConfigError);
  CHECK_THROWS_WITH(llm::save_gguf(path, llm::LLM<hf_mistral>::random(1)), Contains("sliding_window"));
  for (const char* const name : {"model.layers.0.mlp.down_proj.weight", "model.norm.weight"}) {
    CAPTURE(name);
    auto model = llm::LLM<wide>::random(1);
    model.for_each_parameter([&](auto& p) {
      if (p.name() != name) return;
      const std::vector<float> values(static_cast<std::size_t>(p.numel()), std::nanf(""));
      p.assign(llm::DType::f32, std::as_bytes(std::span(values)));
    });
    CHECK_THROWS_AS(llm::save_gguf(path, model), llm::NumericError);
    CHECK_THROWS_WITH(llm::save_gguf(path, model), Contains(name));
  }
  CHECK(read_file(path) == "old");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()) == 1);
}
