// Attention applied to a stream of another width.
// expect: llm::Attention::operator\(\)\(x \[B, T, D\], pass\): x must be a tensor of Shape<dyn, dyn, D> and of the layer.s
// expect: Shape<-1, -1, 64>.*48\b|AttentionSpec{48.*Shape<-1, -1, 64>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/attention.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

constexpr llm::AttentionSpec spec{.d_model = 48, .n_heads = 6, .n_kv_heads = 2, .head_dim = 8, .rope_width = 8};
using Attention = llm::Attention<spec, llm::Trainable<float>, llm::Reference>;
using Pass = llm::Pass<8, float, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Attention& attention, const Tensor<float, Shape<dyn, dyn, 64>>& x, const Pass& pass) { return attention(x, pass); }
#else
auto f(const Attention& attention, const Tensor<float, Shape<dyn, dyn, 48>>& x, const Pass& pass) { return attention(x, pass); }
#endif
