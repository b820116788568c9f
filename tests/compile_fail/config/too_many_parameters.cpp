// Sizes whose product leaves 64 bits.
// expect: llm::Config: the sizes are too large: 18 bytes of training state for each parameter exceed 2.63 bytes
// expect: require<9223372036854775807, 512409557603043100>|parameters=9223372036854775807, maximum=512409557603043100
// nvcc: yes
#include <llm/model/rules.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 4611686018427387904,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048};
#else
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1073741824,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048};
#endif

struct Model : llm::BrokenRules<config> {};
