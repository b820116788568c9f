// The headers that .cu files may include, compiled by nvcc in C++20: [nvcc]. A second unit with the kernels, too.
#include <llm/backend/concept.hpp>
#include <llm/backend/cuda/cuda.hpp>
#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/core/quant.hpp>
#include <llm/core/rng.hpp>
#include <llm/core/rounding.hpp>
#include <llm/core/shape.hpp>
#include <llm/model/account.hpp>
#include <llm/model/config.hpp>
#include <llm/model/llm.hpp>
#include <llm/tensor/tensor.hpp>

namespace {

inline constexpr llm::Config tiny{
    .vocab_size = 32, .d_model = 16, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
template <const llm::Config& C>
struct Uses {
  static constexpr std::int64_t head_width = C.head_width();
};
static_assert(Uses<tiny>::head_width == 4);
static_assert(Uses<tiny>::head_width * 2 == llm::Shape<llm::dyn, 4>{2}.numel());
static_assert(static_cast<float>(llm::bf16(1.00390625f)) == 1.0f);

}  // namespace

/// Never called; instantiates the kernels a second time in this program.
void llm_second_unit_with_kernels(const float* x, float* y) {
  llm::Cuda::rms_norm_forward<float>(x, x, y, nullptr, 1, 1, 0.0, llm::Rounding::round_then_gain);
  llm::Cuda::rms_norm_backward<float>(x, x, x, x, y, y, 1, 1, false, false);
}
