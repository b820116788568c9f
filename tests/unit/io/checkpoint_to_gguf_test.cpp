// Checkpoints of this library as GGUF files: every architecture that is written, in both conventions of RoPE.
#include <llm/io/gguf_model_writer.hpp>
#include <llm/io/load.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <llm/model.hpp>
#include <support/catch.hpp>
#include <support/golden_configs.hpp>
#include <support/temporary_folder.hpp>

using namespace llm_test;

namespace {

/// The elements of every parameter, in order.
template <class Model>
std::vector<float> elements(const Model& model) {
  std::vector<float> all;
  model.for_each_parameter([&](const auto& p) {
    const std::size_t at = all.size();
    all.resize(at + static_cast<std::size_t>(p.numel()));
    p.copy_rows(0, p.shape()[0], all.data() + at);
  });
  return all;
}

/// A checkpoint's weights, as save_checkpoint writes them; no two elements are equal, those of gains neither.
template <const llm::Config& C>
std::vector<float> write_checkpoint(const std::string& path) {
  auto model = llm::LLM<C>::uninitialised();
  std::vector<std::vector<float>> values;
  std::vector<llm::TensorToWrite> tensors;
  std::int32_t next = 0;
  model.for_each_parameter([&](auto& p) {
    std::vector<float>& own = values.emplace_back();
    for (std::int64_t i = 0; i < p.numel(); ++i) own.push_back(static_cast<float>(++next));
    p.assign(llm::DType::f32, std::as_bytes(std::span<const float>(own)));
  });
  std::size_t at = 0;
  model.for_each_parameter([&](const auto& p) {
    tensors.push_back({p.name(), llm::DType::f32, {p.shape().begin(), p.shape().end()}, std::as_bytes(std::span(values[at++]))});
  });
  llm::write_safetensors(path, tensors, {{"checkpoint_version", "1"}, {"config", llm::config_to_json(C)}});
  return elements(model);
}

template <const llm::Config& C>
void check(llm::Family family, const std::string& architecture) {
  CAPTURE(architecture);
  const TemporaryFolder folder;
  const auto expected = write_checkpoint<C>(folder / "checkpoint.safetensors");
  const auto files = llm::CheckpointFiles::open(folder.path());
  CHECK(files.model()->family == family);
  llm::write_gguf(folder / "m.gguf", *files.model(), files.names(), files.tensors());
  CHECK(llm::GgufFile::open(folder / "m.gguf").find_metadata("general.architecture")->text() == architecture);
  CHECK(elements(llm::load<C>(folder / "m.gguf")) == expected);
  CHECK(elements(llm::load<C>(folder.path())) == expected);
}

constexpr llm::Config gpt2_without_biases_of_qkv = [] {
  llm::Config c = hf_gpt2;
  c.qkv_bias = false;
  return c;
}();

}  // namespace

TEST_CASE("a checkpoint becomes the GGUF file of the family that its config is of") {
  check<hf_llama>(llm::Family::llama, "llama");
  check<other_rope<hf_llama>>(llm::Family::llama, "llama");
  check<other_rope<hf_qwen2>>(llm::Family::qwen2, "qwen2");
  check<hf_qwen3>(llm::Family::qwen3, "qwen3");
  check<other_rope<hf_qwen3>>(llm::Family::qwen3, "qwen3");  // gains of q and k change places, too
  check<other_rope<hf_qwen3_moe>>(llm::Family::qwen3_moe, "qwen3moe");
  check<hf_gpt2>(llm::Family::gpt2, "gpt2");  // q, k and v are joined
}

TEST_CASE("a checkpoint that no family has, and one of more layers than files have, stays readable") {
  const TemporaryFolder folder;
  const auto family = [&](const llm::Config& config) {
    llm::write_safetensors(folder / "checkpoint.safetensors", {}, {{"checkpoint_version", "1"}, {"config", llm::config_to_json(config)}});
    return llm::CheckpointFiles::open(folder.path()).model()->family;
  };
  CHECK(family(gpt2_without_biases_of_qkv) == llm::Family::llama);
  llm::Config deep = hf_qwen3_moe;
  deep.n_layers = INT32_MAX;  // a config.json of it would list them all
  deep.experts.first_dense = INT32_MAX - 1;
  CHECK(family(deep) == llm::Family::llama);
}
