// head_dim left out, and d_model is no multiple of n_heads.
// expect: llm::Config: head_dim is 0, which means d_model / n_heads, but d_model is not a multiple of n_heads
// expect: require<1530, 12>|d_model=1530, n_heads=12
// nvcc: yes
#include <llm/model/rules.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1530,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 0,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048};
#else
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 0,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048};
#endif

struct Model : llm::BrokenRules<config> {};
