// A head width that is not the sum of its two parts.
// expect: llm::Config: with mla, head_dim must be 0 or mla.nope_dim . mla.rope_dim
// expect: require<8, 12>|head_dim=8, nope_plus_rope=12
// nvcc: yes
#include <llm/model/rules.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 97,
                                    .d_model = 48,
                                    .n_layers = 4,
                                    .n_heads = 6,
                                    .head_dim = 8,
                                    .ffn_dim = 128,
                                    .max_seq_len = 32,
                                    .mla = {.kv_rank = 16, .nope_dim = 8, .rope_dim = 4, .v_dim = 8}};
#else
inline constexpr llm::Config config{.vocab_size = 97,
                                    .d_model = 48,
                                    .n_layers = 4,
                                    .n_heads = 6,
                                    .head_dim = 12,
                                    .ffn_dim = 128,
                                    .max_seq_len = 32,
                                    .mla = {.kv_rank = 16, .nope_dim = 8, .rope_dim = 4, .v_dim = 8}};
#endif

struct Arithmetic : llm::BrokenRules<config> {};
