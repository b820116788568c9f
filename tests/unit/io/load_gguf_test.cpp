// Through a directory and GGUF and back: the rows of q and k by their numbers of heads [rope_gqa_perm].
#include <llm/core/quant_encode.hpp>
#include <llm/io/gguf_model_writer.hpp>
#include <llm/io/load.hpp>
#include <llm/io/save_hf.hpp>

#include <llm/model.hpp>
#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

using namespace llm_test;

namespace {

void to_gguf(const std::string& directory, const std::string& path, const llm::GgufWriteOptions& options = {}) {
  const auto files = llm::CheckpointFiles::open(directory);
  llm::write_gguf(path, *files.model(), files.names(), files.tensors(), {}, options);
}

/// Many query heads to one of keys, as Llama 2 70B has.
constexpr llm::Config grouped{
    .vocab_size = 40, .d_model = 64, .n_layers = 2, .n_heads = 16, .n_kv_heads = 2, .head_dim = 8, .ffn_dim = 64, .max_seq_len = 32};

}  // namespace

TEST_CASE("The way through a directory and GGUF changes no element, in blocks neither [rope_gqa_perm]") {
  TemporaryFolder folder;
  const auto model = llm::LLM<grouped>::random(2);
  llm::save_hf_directory(folder / "model", model);
  to_gguf(folder / "model", folder / "model.gguf");
  const auto elements = [](const auto& m) {
    std::vector<float> all;
    m.for_each_parameter([&](const auto& p) {
      const std::size_t at = all.size();
      all.resize(at + static_cast<std::size_t>(p.numel()));
      p.copy_rows(0, p.shape()[0], all.data() + at);
    });
    return all;
  };
  CHECK(elements(llm::load<grouped>(folder / "model.gguf")) == elements(model));
  CHECK(elements(llm::load_trainable<grouped>(folder / "model.gguf")) == elements(model));

  // Encoded before rows change places or after: the same blocks.
  to_gguf(folder / "model", folder / "q8.gguf", {.format = [](const auto&, llm::DType) { return llm::DType::q8_0; }});
  auto encoded = llm::LLM<grouped, llm::Frozen>::uninitialised();
  std::vector<std::vector<float>> values;
  model.for_each_parameter([&](const auto& p) { values.push_back(p.tensor().to_vector()); });
  std::size_t at = 0;
  encoded.for_each_parameter([&](auto& p) {
    const std::vector<float>& from = values[at++];
    std::vector<std::byte> bytes(p.is_matrix() ? static_cast<std::size_t>(llm::storage_bytes(llm::DType::q8_0, p.numel())) : 0);
    if (!p.is_matrix()) return p.assign(llm::DType::f32, std::as_bytes(std::span(from)));
    llm::quantize_row(llm::DType::q8_0, from.data(), bytes.data(), p.numel());
    p.assign(llm::DType::q8_0, bytes);
  });
  CHECK(elements(llm::load<grouped>(folder / "q8.gguf")) == elements(encoded));
}
