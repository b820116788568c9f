// A context whose cache leaves 64 bits.
// expect: llm::Config: the sizes are too large: the KV cache of max_seq_len tokens exceeds 2.63 bytes
// expect: require<9223372036854775807, 1152921504606846975>|elements=9223372036854775807, maximum=1152921504606846975
// nvcc: yes
#include <llm/model/rules.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 4611686018427387904};
#else
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 1048576};
#endif

struct Model : llm::BrokenRules<config> {};
