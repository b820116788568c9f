// Published files, loaded, against Hugging Face transformers: every layer, the logits and the greedy tokens.
#include <llm/io/load.hpp>

#include <support/exact_activations.hpp>
#include <support/golden_directory.hpp>

using namespace llm_test;

namespace {

/// Frozen and trainable, in the file's convention of RoPE and in the other one.
template <const llm::Config& C>
void check_all(const std::string& directory) {
  const ExactActivations exact;  // goldens are computed in f32 throughout
  INFO(directory);
  const std::string path = golden_path(directory);
  check_directory(llm::load<C>(path), directory);
  check_directory(llm::load_trainable<C>(path), directory);
  if constexpr (C.rotary()) check_directory(llm::load<other_rope<C>>(path), directory);
}

}  // namespace

TEST_CASE("Llama: plain, tied, in bf16, in shards, with scaled frequencies", "[golden]") {
  check_all<hf_llama>("hf/llama");
  check_all<hf_llama_tied>("hf/llama_tied");
  check_all<hf_llama>("hf/llama_sharded");
  check_all<hf_llama>("hf/llama_bf16");
  check_all<hf_llama>("hf4/llama_bf16");
  check_all<hf_llama_rope3>("hf/llama_rope3");
  check_all<hf_llama_rope3>("hf4/llama_rope3");
}

TEST_CASE("Mistral: a window", "[golden]") { check_all<hf_mistral>("hf/mistral"); }

TEST_CASE("Qwen2: biases of q, k and v; Qwen3: norms of q and k, wide heads", "[golden]") {
  check_all<hf_qwen2>("hf/qwen2");
  check_all<hf_qwen2>("hf4/qwen2");
  check_all<hf_qwen3>("hf/qwen3");
  check_all<hf_qwen3>("hf4/qwen3");
}

TEST_CASE("Qwen3-MoE: experts one by one", "[golden]") {
  check_all<hf_qwen3_moe>("hf/qwen3_moe");
  check_all<hf_qwen3_moe>("hf4/qwen3_moe");
}

TEST_CASE("GPT-2: joined and transposed matrices, learned positions", "[golden]") { check_all<hf_gpt2>("hf/gpt2"); }

TEST_CASE("A GGUF file in ten formats", "[golden]") {
  const ExactActivations exact;
  const Golden file("tiny_gguf_expected.safetensors");
  const auto check = [&](const auto& model) {
    using Model = std::remove_cvref_t<decltype(model)>;
    check_equal("logits", model(golden_ids<Model>(file, "in.ids")), file, "out.logits", 1e-4);
  };
  check(llm::load<tiny_gguf>(golden_path("tiny.gguf")));
  check(llm::load<other_rope<tiny_gguf>>(golden_path("tiny.gguf")));
  check(llm::load_trainable<tiny_gguf>(golden_path("tiny.gguf")));
}
