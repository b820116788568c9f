// Elements of a file as a type that none can have.
// expect: llm::copy_values<T>: T must be float, double, llm::bf16, llm::f16, int64_t, int32_t or uint8_t
// expect: bool
#include <llm/io/safetensors.hpp>

#ifdef LLM_MUST_FAIL
auto f(const llm::SafetensorsEntry& entry) { return llm::copy_values<bool>(entry); }
#else
auto f(const llm::SafetensorsEntry& entry) { return llm::copy_values<std::uint8_t>(entry); }
#endif
