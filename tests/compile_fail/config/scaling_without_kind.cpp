// A factor for long contexts, but not what kind of scaling it belongs to.
// expect: llm::Config: rope_scaling.factor is given, but rope_scaling.kind is none
// expect: require<8, 0>|factor=8, kind=0
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
                                    .rope_scaling = {.factor = 8}};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 4, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif

struct Arithmetic : llm::BrokenRules<config> {};
