// Writes models of every family as Hugging Face directories, each with ids, the logits that the library gives and the tokens that it draws:
// write FOLDER [GGUF].
#include <cstdio>
#include <exception>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <llm/configs/smollm2.hpp>
#include <llm/io/load.hpp>
#include <llm/io/save_hf.hpp>
#include <llm/model.hpp>
#include <support/exact_activations.hpp>
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

std::vector<std::int64_t> as_i64(const std::vector<llm::Token>& ids) { return {ids.begin(), ids.end()}; }

/// `prompt`: what greedy tokens are drawn behind.
template <class Model>
void write(const std::string& folder, const std::string& name, const Model& model, const llm::SaveOptions& options = {},
           const std::vector<llm::Token>& prompt = {7, 1, 30, 5}) {
  constexpr std::int64_t rows = 2, length = 24;
  std::vector<llm::Token> tokens;
  for (std::int64_t i = 0; i < rows * length; ++i) tokens.push_back(static_cast<llm::Token>((i * 37 + i * i * 11 + 5) % Model::V));
  const auto logits = model(Model::Ids::from(tokens, {rows, length})).to_vector();
  const auto ids = as_i64(tokens), begin = as_i64(prompt);
  const auto greedy = as_i64(llm::generate_tokens(model, prompt, {.max_new_tokens = 28, .temperature = 0}));
  llm::save_hf_directory(folder + "/" + name, model, options);
  const std::vector<llm::TensorToWrite> expected{{"ids", llm::DType::i64, {rows, length}, std::as_bytes(std::span(ids))},
                                                 {"prompt", llm::DType::i64, {1, std::ssize(begin)}, std::as_bytes(std::span(begin))},
                                                 {"greedy", llm::DType::i64, {1, std::ssize(greedy)}, std::as_bytes(std::span(greedy))},
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
    const ExactActivations exact;  // what is written are the decoded weights, and transformers rounds no activations
    write_all(argv[1]);
    const std::vector<llm::Token> france{504, 3575, 282, 4649, 314};  // "The capital of France is"
    if (argc > 2)
      write(argv[1], "smollm2", llm::load<llm::configs::smollm2_135m>(argv[2]), {.bos_token_id = 1, .eos_token_ids = {2}}, france);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
