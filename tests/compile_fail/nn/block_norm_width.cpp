// A block whose norm has another width than its attention.
// expect: llm::Block<NormLayer, AttentionLayer, MlpLayer>: all three layers must have the same width
// expect: same_widths<64, 48, 48>|RmsNorm<64.*AttentionSpec{48.*(SwiGlu|GatedMlp)<48
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/block.hpp>

using Weights = llm::Trainable<float>;
constexpr llm::AttentionSpec spec{.d_model = 48, .n_heads = 6, .n_kv_heads = 2, .head_dim = 8, .rope_width = 8};
template <std::int64_t D>
using Block = llm::Block<llm::RmsNorm<D, float, llm::Reference>, llm::Attention<spec, Weights, llm::Reference>,
                         llm::SwiGlu<48, 128, false, Weights, llm::Reference>>;

#ifdef LLM_MUST_FAIL
static_assert(sizeof(Block<64>) > 0);
#else
static_assert(sizeof(Block<48>) > 0);
#endif
