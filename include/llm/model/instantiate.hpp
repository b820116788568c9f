// One .cpp can own a model's code: the others declare it and compile nothing of it.
#pragma once

#include <llm/model/llm.hpp>

/// In a header, after the Config: no translation unit that sees this compiles the members of LLM<config, ...>.
/// Arguments as of llm::LLM: a config, then optionally weights and backend.
#define LLM_DECLARE(...)                         \
  extern template class ::llm::LLM<__VA_ARGS__>; \
  LLM_DETAIL_CACHED_MEMBERS(extern template, __VA_ARGS__)

/// In exactly one .cpp: compiles them there.
#define LLM_INSTANTIATE(...)              \
  template class ::llm::LLM<__VA_ARGS__>; \
  LLM_DETAIL_CACHED_MEMBERS(template, __VA_ARGS__)

/// The members that are templates over the cache's element type, for the model's own type.
#define LLM_DETAIL_CACHED_MEMBERS(keyword, ...)                                                                    \
  keyword auto ::llm::LLM<__VA_ARGS__>::operator()(const Ids&, Cache&, std::int64_t, HiddenStates*) const->Logits; \
  keyword auto ::llm::LLM<__VA_ARGS__>::last_logits(const Ids&, Cache&, std::int64_t, HiddenStates*) const->LastLogits;
