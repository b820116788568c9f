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

/// Finds out whether one text may hold a token and one of others in such a way that they share letters.
class Overlaps {
 public:
  /// `others`: numbers in `tokens`, which stay where they are.
  Overlaps(const AddedTokenList& tokens, const std::vector<std::uint32_t>& others) : tokens_(tokens), order_(others, Content{tokens}) {}

  /// Whether one of the others begins inside the token, or where it begins, and goes on to the end of one of them. Throws ValueError for
  /// tokens that take too long.
  bool begins_in(std::string_view token) {
    for (std::size_t at = 0; at < token.size(); ++at) {
      bool whole = false;
      const std::size_t size = order_.for_each_at(token, at, steps_, Content{tokens_}, [&](std::uint32_t, std::size_t) { whole = true; });
      if (whole || at + size == token.size()) return true;
    }
    constexpr std::size_t most_steps = 100'000'000;  // some hundred times what honest tokens take
    if (steps_ > most_steps) throw ValueError("llm::to_gguf: the added tokens take too long to compare: they are made to be slow");
    return false;
  }

 private:
  struct Content {
    const AddedTokenList& tokens;
    std::string_view operator()(std::uint32_t i) const { return tokens.content(i); }
  };
  const AddedTokenList& tokens_;
  PrefixOrder order_;
  std::size_t steps_ = 0;
};

/// Of a GGUF file the added tokens are looked for in the text as it is, all alike. Throws ValueError for one where that finds others.
inline void check_added_for_gguf(const BpeTokenizer& tokenizer) {
  const auto fail = [](const AddedToken& token, std::string_view reason) {
    throw ValueError(concat("llm::to_gguf: the added token ", in_quotes(token.content), " ", reason, ", which GGUF cannot say"));
  };
  const AddedTokenList& all = tokenizer.added().all();
  std::vector<std::uint32_t> raw, normalized;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const AddedToken token = all[i];
    if (token.lstrip || token.rstrip) fail(token, "takes the white space beside it");
    if (token.single_word) fail(token, "is found as a single word only");
    if (token.normalized && !tokenizer.parts().normalizer.empty()) fail(token, "is looked for in the normalised text");
    (token.normalized ? normalized : raw).push_back(i);
  }
  // Without a normaliser the two kinds differ in the order only: the raw ones are looked for first.
  const auto check = [&](const std::vector<std::uint32_t>& some, const std::vector<std::uint32_t>& others) {
    Overlaps overlaps(all, others);
    for (const std::uint32_t i : some)
      if (overlaps.begins_in(all.content(i))) fail(all[i], "overlaps with one that is looked for before or after it");
  };
  check(raw, normalized);
  check(normalized, raw);
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
