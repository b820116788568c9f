// Sampling from logits in double.
// expect: llm::Sampler::sample\(logits, previous\): logits must be float, one after another in memory
// expect: vector<double
#include <vector>

#include <llm/generate/sampling.hpp>

#ifdef LLM_MUST_FAIL
using Logits = std::vector<double>;
#else
using Logits = std::vector<float>;
#endif
auto f(llm::Sampler& sampler, const Logits& logits) { return sampler.sample(logits); }
