// The second half of an MLP with a weight of another element type.
// expect: llm::gated_linear\(kind, gate \[\.\.\., K\], up \[\.\.\., K\], weight \[N, K\], bias \[N\]\): all must be tensors
// expect: of the same element type and backend
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/activation_linear.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using Wide = Tensor<float, llm::Shape<llm::dyn, 96>>;
using Matrix = llm::Shape<64, 96>;

#ifdef LLM_MUST_FAIL
auto f(const Wide& gate, const Wide& up, const Tensor<double, Matrix>& weight) { return llm::swiglu_linear(gate, up, weight); }
#else
auto f(const Wide& gate, const Wide& up, const Tensor<float, Matrix>& weight) { return llm::swiglu_linear(gate, up, weight); }
#endif
