// Cutting a normalised text into the words that BPE sees.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <llm/text/bpe/split.hpp>

namespace llm {

/// Steps that cut a text and put prefixes before its pieces; each works on the pieces of the one before.
class PreTokenizer {
 public:
  /// Puts a space before a piece that does not begin with one.
  struct PrefixSpace {};
  /// Writes spaces as another text, puts that before pieces that do not begin with it, and cuts before it.
  struct Metaspace {
    enum class Prefix { always, first, never };  ///< every piece; the one that begins the whole text; none
    std::string replacement;
    Prefix prefix = Prefix::always;
    bool split = true;
  };
  using Step = std::variant<Split, PrefixSpace, Metaspace>;

  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

  const std::vector<Step>& steps() const { return steps_; }

  /// The pieces of a text, which must be valid UTF-8. `at_start` says whether the whole text begins with it.
  TextPieces operator()(std::string_view text, bool at_start) const {
    TextPieces pieces;
    pieces.add(text);
    for (const Step& step : steps_) {
      TextPieces before = std::move(pieces);
      pieces = {};
      if (const auto* split = std::get_if<Split>(&step))
        apply(*split, before, pieces);
      else if (const auto* metaspace = std::get_if<Metaspace>(&step))
        apply(*metaspace, before, pieces, at_start);
      else
        before.for_each(
            [&](std::string_view piece) { pieces.add(piece.starts_with(' ') ? std::string(piece) : " " + std::string(piece)); });
    }
    return pieces;
  }

 private:
  static void apply(const Split& split, const TextPieces& before, TextPieces& pieces) {
    pieces.text.reserve(before.text.size());
    before.for_each([&](std::string_view piece) {
      split.for_each_part(piece, [&](std::size_t begin, std::size_t end) { pieces.add(piece.substr(begin, end - begin)); });
    });
  }

  static void apply(const Metaspace& metaspace, const TextPieces& before, TextPieces& pieces, bool at_start) {
    const TextPattern space(std::string(" ")), cut(metaspace.replacement);
    const Split split{cut, SplitBehavior::merged_with_next};
    before.for_each([&](std::string_view piece) {
      std::string changed = space.replace(piece, metaspace.replacement);
      const bool first = at_start && pieces.ends.empty();
      const bool wanted = metaspace.prefix == Metaspace::Prefix::always || (metaspace.prefix == Metaspace::Prefix::first && first);
      if (wanted && !changed.starts_with(metaspace.replacement)) changed = metaspace.replacement + changed;
      if (!metaspace.split) return pieces.add(changed);
      split.for_each_part(changed,
                          [&](std::size_t begin, std::size_t end) { pieces.add(std::string_view(changed).substr(begin, end - begin)); });
    });
  }

  std::vector<Step> steps_;
};

}  // namespace llm
