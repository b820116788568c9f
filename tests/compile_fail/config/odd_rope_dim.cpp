// A rotated width that leaves one dimension without its pair.
// expect: llm::Config: rope_dim \(0: head_dim\) must be even
// expect: require<63, 2>|rope_dim=63, divisor=2
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
                                    .max_seq_len = 2048,
                                    .rope_dim = 63};
#else
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048,
                                    .rope_dim = 64};
#endif

struct Model : llm::BrokenRules<config> {};
