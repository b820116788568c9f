// A negative epsilon; its sign shows, rounded away from zero.
// expect: llm::Config: norm_eps must be greater than 0 and finite
// expect: require<-1, 0>|norm_eps=-1, limit=0
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
                                    .norm_eps = -1e-5};
#else
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048,
                                    .norm_eps = 1e-5};
#endif

struct Model : llm::BrokenRules<config> {};
