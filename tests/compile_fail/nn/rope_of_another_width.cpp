// Attention with the rotary tables of another head width.
// expect: llm::Attention::operator\(\)\(x \[B, T, D\], pass\): the pass must be an llm::Pass of the layer.s rope_width and backend
// expect: Pass<16,.*8\b
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/attention.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

constexpr llm::AttentionSpec spec{.d_model = 48, .n_heads = 6, .n_kv_heads = 2, .head_dim = 8, .rope_width = 8};
using Attention = llm::Attention<spec, llm::Trainable<float>, llm::Reference>;
using X = Tensor<float, Shape<dyn, dyn, 48>>;

#ifdef LLM_MUST_FAIL
auto f(const Attention& attention, const X& x, const llm::Pass<16, float, llm::Reference>& pass) { return attention(x, pass); }
#else
auto f(const Attention& attention, const X& x, const llm::Pass<8, float, llm::Reference>& pass) { return attention(x, pass); }
#endif
