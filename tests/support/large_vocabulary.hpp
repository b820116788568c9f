// A vocabulary as large as may be, for tests of what refusing it costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <llm/text/bpe/added_token.hpp>
#include <llm/text/bpe/vocabulary.hpp>

namespace llm_test {

/// As many tokens of letters as may be, in one order, the first 26 of one letter, the next of two. `large`: those behind are so long that
/// all together, and of the first as many as there may be added ones, are close to the limits of their memory.
inline std::vector<std::string> most_tokens(bool large = false) {
  std::vector<std::string> tokens;
  for (std::int64_t id = 0; id < llm::Vocabulary::max_ids; ++id) {
    std::string token;
    for (std::int64_t rest = id; token.empty() || rest > 0; rest /= 26) token += static_cast<char>('a' + rest % 26);
    const std::size_t size = static_cast<std::size_t>(id) < llm::AddedTokenList::max_count ? 17 : 11;
    if (large && id >= 676) token.insert(0, size - token.size(), 'X');
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace llm_test
