// Published directories written as GGUF and loaded again, against Hugging Face transformers' layers, logits and greedy tokens.
#include <llm/io.hpp>
#include <llm/io/load.hpp>
#include <support/golden_directory.hpp>
#include <support/temporary_folder.hpp>

using namespace llm_test;

namespace {

template <const llm::Config& C>
void check_export(const std::string& directory) {
  INFO(directory);
  const TemporaryFolder folder;
  const auto files = llm::CheckpointFiles::open(golden_path(directory));
  llm::write_gguf(folder / "m.gguf", *files.model(), files.names(), files.tensors());
  check_directory(llm::load<C>(folder / "m.gguf"), directory);
}

}  // namespace

TEST_CASE("directories written as GGUF load to the same models", "[golden]") {
  check_export<hf_llama>("hf/llama");
  check_export<hf_llama_tied>("hf/llama_tied");
  check_export<hf_llama>("hf/llama_sharded");
  check_export<hf_llama>("hf/llama_bf16");
  check_export<hf_llama_rope3>("hf/llama_rope3");
  check_export<hf_qwen2>("hf/qwen2");
  check_export<hf_qwen3>("hf/qwen3");
  check_export<hf_qwen3_moe>("hf/qwen3_moe");
  check_export<hf_gpt2>("hf/gpt2");
}
