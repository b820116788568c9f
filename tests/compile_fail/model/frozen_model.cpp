// A whole model with frozen weights.
// expect: llm::LLM<config, Weights, Backend>: Weights must be llm::Trainable<T> with T float, double or llm::bf16 \(a layer
// expect: trainable_weights<.*Frozen
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};

#ifdef LLM_MUST_FAIL
using Model = llm::LLM<config, llm::Frozen, llm::Reference>;
#else
using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;
#endif
static_assert(sizeof(Model) > 0);
