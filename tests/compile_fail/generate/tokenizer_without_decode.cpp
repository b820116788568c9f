// A tokenizer that cannot decode one token.
// expect: llm::generate\(model, tokenizer, text, options\): the tokenizer must have vocab_size\(\), encode\(text\) and
// expect: Bytes
#include <string>
#include <string_view>
#include <vector>

#include <llm/generate/generate.hpp>
#include <llm/model.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

struct Bytes {
  std::int64_t vocab_size() const { return 32; }
  std::vector<llm::Token> encode(std::string_view text) const { return {text.begin(), text.end()}; }
#ifdef LLM_MUST_FAIL
  std::string decode(llm::Token id) const { return std::string(1, static_cast<char>(id)); }
#else
  std::string decode_one(llm::Token id) const { return std::string(1, static_cast<char>(id)); }
#endif
};
void f(const Model& model, const Bytes& tokenizer) {
  for (auto piece : llm::generate(model, tokenizer, "To be", {.temperature = 0})) (void)piece;
}
