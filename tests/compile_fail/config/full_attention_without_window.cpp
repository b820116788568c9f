// Layers without a window, but no window.
// expect: llm::Config: full_attention_every is given, but sliding_window is 0
// expect: require<2, 0>|full_attention_every=2, sliding_window=0
// nvcc: yes
#include <llm/model/rules.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 97,
                                    .d_model = 48,
                                    .n_layers = 4,
                                    .n_heads = 6,
                                    .n_kv_heads = 2,
                                    .ffn_dim = 128,
                                    .max_seq_len = 32,
                                    .full_attention_every = 2};
#else
inline constexpr llm::Config config{.vocab_size = 97,
                                    .d_model = 48,
                                    .n_layers = 4,
                                    .n_heads = 6,
                                    .n_kv_heads = 2,
                                    .ffn_dim = 128,
                                    .max_seq_len = 32,
                                    .sliding_window = 8,
                                    .full_attention_every = 2};
#endif

struct Arithmetic : llm::BrokenRules<config> {};
