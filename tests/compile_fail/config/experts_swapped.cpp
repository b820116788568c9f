// More experts for a token than there are.
// expect: llm::Config: experts.active is larger than experts.count: are they swapped
// expect: require<8, 2>|active=8, count=2
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
                                    .experts = {.count = 2, .active = 8}};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 4, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif

struct Arithmetic : llm::BrokenRules<config> {};
