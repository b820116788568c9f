// A whole program that generates with a model of a wrong config: one error, wherever else the model and its cache are named.
// expect: llm::Config: n_kv_heads is larger than n_heads: are they swapped\?
#include <string>
#include <vector>

#include <llm/backend/reference/reference.hpp>
#include <llm/generate/generate.hpp>
#include <llm/generate/prompt_batch.hpp>
#include <llm/model.hpp>
#include <llm/text.hpp>
#include <llm/train/checkpoint.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 2, .n_kv_heads = 6, .ffn_dim = 128, .max_seq_len = 32};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif

using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

llm::Token sample(const Model& model, const Model::Ids& ids) {
  llm::KvCache<config, float, llm::Reference> cache(1, 16);
  const Model::LastLogits last = model.last_logits(ids, cache);
  const llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, Model::V>, llm::Reference> all = model(ids);
  const std::vector<Model::Hidden> states = model.hidden_states(ids);
  llm::Sampler sampler({.temperature = 1.0}, Model::V);
  return sampler.sample(last.to_vector()) + static_cast<llm::Token>(all.numel() + cache.length() + states.front().extent(2));
}

std::size_t generate(const llm::CharTokenizer& tokenizer, const std::vector<llm::Token>& prompt) {
  Model model = Model::uninitialised();
  llm::load_weights("run", model);
  const Model copy = model.clone();
  typename Model::Cache cache(1, 16);
  std::size_t count = 0;
  llm::Session session(copy, 16);
  for (const llm::Token token : llm::generate(session, prompt, {.max_new_tokens = 4})) count += token == 0;
  for (const auto& piece : llm::generate(copy, tokenizer, "text", {.max_new_tokens = 4})) count += piece.size();
  cache.truncate(0, 1);
  return count + llm::generate_batch(copy, std::vector<std::vector<llm::Token>>{prompt}, {.max_new_tokens = 2}).size();
}
