// Query heads that no whole number of KV heads can serve.
// expect: llm::Config: n_heads must be a multiple of n_kv_heads
// expect: require<12, 5>|n_heads=12, n_kv_heads=5
// nvcc: yes
#include <llm/model/rules.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 5,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048};
#else
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 6,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048};
#endif

struct Model : llm::BrokenRules<config> {};
