// [opt_dtype] Moments of AdamW narrower than float: small updates would be lost.
// expect: llm::adamw\(param T, master, grad, m, v\): master and moments must be compute_t<T> \(float, double for double\)
// expect: bf16
// nvcc: yes
#include <llm/backend/reference/optimizer.hpp>

#ifdef LLM_MUST_FAIL
using Moment = llm::bf16;
#else
using Moment = float;
#endif

void step(llm::bf16* param, const float* grad, Moment* m, Moment* v) {
  llm::reference::adamw<llm::bf16>(llm::AdamWArgs{}, 0.0, param, nullptr, grad, m, v, 1);
}
