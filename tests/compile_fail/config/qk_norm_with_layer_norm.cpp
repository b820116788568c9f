// QK-norm in a LayerNorm model.
// expect: llm::Config: qk_norm normalises heads by RMSNorm and needs norm = Norm::rms_norm
// expect: require<1, 1>|qk_norm=1, norm=1
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
                                    .norm = llm::Norm::layer_norm,
                                    .qk_norm = true};
#else
inline constexpr llm::Config config{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = 18,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048,
                                    .norm = llm::Norm::rms_norm,
                                    .qk_norm = true};
#endif

struct Model : llm::BrokenRules<config> {};
