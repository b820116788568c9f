// More tokens than 32-bit ids.
// expect: llm::Config: vocab_size exceeds the range of 32-bit token ids
// expect: require<2147483648, 2147483647>|vocab_size=2147483648, maximum=2147483647
// nvcc: yes
#include <llm/model/rules.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 2147483648,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048};
#else
inline constexpr llm::Config config{.vocab_size = 2147483647,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048};
#endif

struct Model : llm::BrokenRules<config> {};
