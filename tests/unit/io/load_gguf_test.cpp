// Through a directory and GGUF and back: the rows of q and k by their numbers of heads [rope_gqa_perm].
#include <llm/io/gguf_model_writer.hpp>
#include <llm/io/load.hpp>
#include <llm/io/save_hf.hpp>

#include <llm/model.hpp>
#include <support/catch.hpp>
#include <support/encoded_model.hpp>
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
  const auto encoded = llm_test::encoded(model, [](std::size_t) { return llm::DType::q8_0; });
  CHECK(elements(llm::load<grouped>(folder / "q8.gguf")) == elements(encoded));
}
