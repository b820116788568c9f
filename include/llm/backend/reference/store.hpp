// How a kernel writes a gradient: over what is there, or on top of it.
#pragma once

#include <llm/core/dtype.hpp>
#include <llm/detail/platform.hpp>

namespace llm::reference {

/// y = value, or y += value when `add`. y is not read unless `add`: it may be uninitialised.
template <class T>
LLM_HOST_DEVICE void store(T& y, compute_t<T> value, bool add) {
  y = T(add ? compute_t<T>(y) + value : value);
}

}  // namespace llm::reference
