// Writes models of every family as Hugging Face directories, each with ids and the logits that the library gives: write FOLDER [GGUF].
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <llm/configs/smollm2.hpp>
#include <llm/io/load.hpp>
#include <llm/io/save_hf.hpp>
#include <llm/model.hpp>
#include <support/golden_configs.hpp>

using namespace llm_test;

namespace {

constexpr llm::Config biased_yarn = [] {
  llm::Config c = hf_llama;
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = true;
  c.rope_scaling = {.kind = llm::RopeScalingKind::yarn, .factor = 4.0, .original_max_seq_len = 16};
  return c;
}();
constexpr llm::Config linear_scaling = [] {
  llm::Config c = hf_llama_tied;
  c.rope_scaling = {.kind = llm::RopeScalingKind::linear, .factor = 2.0};
  return c;
}();
constexpr llm::Config mixtral = [] {
  llm::Config c = hf_llama;
  c.experts = {.count = 4, .active = 2};
  return c;
}();
constexpr llm::Config phi3 = [] {
  llm::Config c = hf_llama;
  c.rope_dim = 4;
  return c;
}();
constexpr llm::Config qwen2_window = [] {
  llm::Config c = hf_qwen2;
  c.sliding_window = 5;
  return c;
}();
constexpr llm::Config starcoder2 = [] {
  llm::Config c = hf_gpt2;
  c.position = llm::Position::rope_half;
  c.n_kv_heads = 2;
  return c;
}();

template <class Model>
void write(const std::string& folder, const std::string& name, const Model& model, const llm::SaveOptions& options = {}) {
  constexpr std::int64_t rows = 2, length = 24;
  std::vector<std::int64_t> ids;
  std::vector<llm::Token> tokens;
  for (std::int64_t i = 0; i < rows * length; ++i) {
    ids.push_back((i * 37 + i * i * 11 + 5) % Model::V);
    tokens.push_back(static_cast<llm::Token>(ids.back()));
  }
  const auto logits = model(Model::Ids::from(tokens, {rows, length})).to_vector();
  llm::save_hf_directory(folder + "/" + name, model, options);
  const std::vector<llm::TensorToWrite> expected{{"ids", llm::DType::i64, {rows, length}, std::as_bytes(std::span(ids))},
                                                 {"logits", llm::DType::f32, {rows, length, Model::V}, std::as_bytes(std::span(logits))}};
  llm::write_safetensors(folder + "/" + name + ".expected.safetensors", expected);
}

/// Wide weights, and gains and biases that are not 1 and 0, so that a wrong place for any of them shows.
template <const llm::Config& C>
llm::LLM<C> wide() {
  auto model = llm::LLM<C>::random(5);
  std::uint64_t stream = 0;
  model.for_each_parameter([&](auto& p) {
    llm::Cpu::fill_normal<float>(p.tensor().data(), p.numel(), 9, stream++, p.is_matrix() ? 0.15 : 0.3);
    if (p.kind() != llm::ParameterKind::gain) return;
    for (std::int64_t i = 0; i < p.numel(); ++i) p.tensor().data()[i] += 1.0f;
  });
  return model;
}

void write_all(const std::string& folder) {
  write(folder, "llama", llm::load<hf_llama>(golden_path("hf/llama")));
  write(folder, "llama_interleaved", wide<other_rope<hf_llama>>());
  write(folder, "llama_tied", wide<hf_llama_tied>(), {.shard_bytes = 20'000});
  write(folder, "llama_rope3", wide<hf_llama_rope3>());
  write(folder, "llama_biased_yarn", wide<biased_yarn>());
  write(folder, "llama_linear", wide<linear_scaling>());
  write(folder, "llama_gguf", llm::load<tiny_gguf>(golden_path("tiny.gguf")));
  write(folder, "mistral", wide<hf_mistral>());
  write(folder, "qwen2", wide<hf_qwen2>());
  write(folder, "qwen2_window", wide<qwen2_window>());
  write(folder, "qwen3", wide<hf_qwen3>());
  write(folder, "qwen3_moe", wide<hf_qwen3_moe>());
  write(folder, "mixtral", wide<mixtral>());
  write(folder, "phi3", wide<phi3>());
  write(folder, "gpt2", wide<hf_gpt2>());
  write(folder, "starcoder2", wide<starcoder2>());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    write_all(argv[1]);
    if (argc > 2) write(argv[1], "smollm2", llm::load<llm::configs::smollm2_135m>(argv[2]), {.bos_token_id = 1, .eos_token_ids = {2}});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
