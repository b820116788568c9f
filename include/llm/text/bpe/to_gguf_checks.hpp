// What a tokenizer may not have if a GGUF file is to say all of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/gguf_vocabulary.hpp>
#include <llm/text/utf8.hpp>

namespace llm::detail::bpe {

/// Whether one text may hold a and b in such a way that they share letters.
inline bool may_overlap(std::string_view a, std::string_view b) {
  if (a.find(b) != std::string_view::npos || b.find(a) != std::string_view::npos) return true;
  for (std::size_t size = 1; size < (std::min)(a.size(), b.size()); ++size)
    if (a.ends_with(b.substr(0, size)) || b.ends_with(a.substr(0, size))) return true;
  return false;
}

/// Of a GGUF file the added tokens are looked for in the text as it is, all alike. Throws ValueError for one where that finds others.
inline void check_added_for_gguf(const BpeTokenizer& tokenizer) {
  const auto fail = [](const AddedToken& token, std::string_view reason) {
    throw ValueError(concat("llm::to_gguf: the added token ", in_quotes(token.content), " ", reason, ", which GGUF cannot say"));
  };
  std::vector<const AddedToken*> raw, normalized;
  for (const AddedToken& token : tokenizer.added().all()) {
    if (token.lstrip || token.rstrip) fail(token, "takes the white space beside it");
    if (token.single_word) fail(token, "is found as a single word only");
    if (token.normalized && !tokenizer.parts().normalizer.empty()) fail(token, "is looked for in the normalised text");
    (token.normalized ? normalized : raw).push_back(&token);
  }
  // Without a normaliser the two kinds differ in the order only: the raw ones are looked for first.
  constexpr std::size_t most_pairs = 1'000'000;
  if (raw.size() * normalized.size() > most_pairs) fail(*raw.front(), "is one of too many that are looked for before others");
  for (const AddedToken* first : raw)
    for (const AddedToken* second : normalized)
      if (may_overlap(first->content, second->content))
        fail(*first, concat("is looked for before ", in_quotes(second->content), ", with which it overlaps"));
}

/// Checks that merging by scores gives what a model's merges give: any two neighbours that are a token together are merged, and the merges
/// to one token follow each other. So it is with tokenizers that were made from SentencePiece's. `types` has `normal` for the tokens that a
/// merge or a character leads to, and for those only. Throws ValueError.
class ScoreCheck {
 public:
  ScoreCheck(const Vocabulary& vocabulary, const MergeTable& merges, const std::vector<std::int64_t>& types)
      : vocabulary_(vocabulary), merges_(merges), types_(types) {}

  void run() const {
    check_order();
    for (std::size_t id = 0; id < types_.size(); ++id)
      if (types_[id] == GgufVocabulary::normal) check_pairs(vocabulary_.text(static_cast<std::int32_t>(id)));
  }

 private:
  [[noreturn]] static void fail(std::string_view token, std::string_view reason) {
    throw ValueError(concat("llm::to_gguf: the merges to ", in_quotes(token), " ", reason, ", which GGUF's scores cannot say"));
  }
  bool is_normal(std::int32_t id) const { return types_[static_cast<std::size_t>(id)] == GgufVocabulary::normal; }

  void check_order() const {
    std::vector<std::pair<std::uint32_t, std::int32_t>> results;
    merges_.for_each([&](std::int32_t left, std::int32_t right, Merge merge) {
      if (!is_normal(left) || !is_normal(right) || !is_normal(merge.id)) fail(vocabulary_.text(merge.id), "are with an added token");
      results.emplace_back(merge.rank, merge.id);
    });
    std::sort(results.begin(), results.end());
    std::vector<bool> done(types_.size());
    std::int32_t last = -1;
    for (const auto& [rank, id] : results) {
      if (id != last && done[static_cast<std::size_t>(id)]) fail(vocabulary_.text(id), "stand apart from each other");
      done[static_cast<std::size_t>(id)] = true;
      last = id;
    }
  }

  void check_pairs(std::string_view token) const {
    for (std::size_t at = read_utf8(token, 0).length; at < token.size(); at += read_utf8(token, at).length) {
      const auto left = vocabulary_.find(token.substr(0, at)), right = vocabulary_.find(token.substr(at));
      if (left && right && is_normal(*left) && is_normal(*right) && merges_.find(*left, *right).rank == Merge::never)
        fail(token, "leave out one of two tokens");
    }
  }

  const Vocabulary& vocabulary_;
  const MergeTable& merges_;
  const std::vector<std::int64_t>& types_;
};

}  // namespace llm::detail::bpe
