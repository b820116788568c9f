// A rotated width, but learned positions.
// expect: llm::Config: rope_dim is given, but position is neither rope_half nor rope_interleaved
// expect: require<64, 0>|rope_dim=64, rotary=0
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
                                    .position = llm::Position::learned,
                                    .rope_dim = 64};
#else
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048,
                                    .position = llm::Position::rope_interleaved,
                                    .rope_dim = 64};
#endif

struct Model : llm::BrokenRules<config> {};
