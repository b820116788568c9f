// Where the norms of a block stand.
#pragma once

#include <cstdint>

namespace llm {

/// Where a layer's norms stand; f is attention or MLP.
/// pre: x + f(norm(x)) and a final norm. post: norm(x + f(x)), no final norm, as in the original transformer.
/// branch: x + norm(f(x)) and a final norm (OLMo 2). sandwich: x + norm(f(norm(x))) and a final norm (Gemma 2 and 3).
enum class NormPosition : std::uint8_t { pre, post, branch, sandwich };

}  // namespace llm
