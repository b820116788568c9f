// A config that lives in a function and has no address that a type can keep.
// expect: the address of .config. is not a valid template argument|non-type template argument is not a constant expression
// expect: config.*(static storage duration|.static. to give it a constant address)
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

auto f() {
#ifdef LLM_MUST_FAIL
  constexpr llm::Config config{
      .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#else
  static constexpr llm::Config config{
      .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif
  return llm::LLM<config, llm::Trainable<float>, llm::Reference>::parameter_count;
}
