// A scaling that needs the context of the first training.
// expect: llm::Config: rope_scaling.kind llama3 and yarn need original_max_seq_len
// expect: require<0, 1>|original_max_seq_len=0, minimum=1
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
                                    .rope_scaling = {.kind = llm::RopeScalingKind::yarn, .factor = 4}};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 4, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif

struct Arithmetic : llm::BrokenRules<config> {};
