// Experts, but not how many a token passes.
// expect: llm::Config: experts.active, the experts that a token passes, must be at least 1
// expect: require<0, 1>|active=0, minimum=1
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
                                    .experts = {.count = 8}};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 4, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif

struct Arithmetic : llm::BrokenRules<config> {};
