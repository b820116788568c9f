// A model whose weights are of a type that none can have.
// expect: llm::LLM<config, Weights, Backend>: Weights must be llm::Trainable<T> with T float, double or llm::bf16
// expect: trainable_weights<.*int
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};

#ifdef LLM_MUST_FAIL
using Weights = llm::Trainable<int>;
#else
using Weights = llm::Trainable<llm::bf16>;
#endif
static_assert(sizeof(llm::LLM<config, Weights, llm::Reference>) > 0);
