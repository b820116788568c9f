// Cutting a text at the matches of a pattern, and what becomes of the matches.
// Source: Hugging Face tokenizers' documentation of SplitDelimiterBehavior.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/text/bpe/pattern.hpp>

namespace llm {

/// A text and where its pieces end. No piece is empty.
struct TextPieces {
  std::string text;
  std::vector<std::size_t> ends;

  /// Appends a piece; an empty one is none.
  void add(std::string_view piece) {
    text += piece;
    if (!piece.empty()) ends.push_back(text.size());
  }
  /// Calls f(piece) for each in turn.
  template <class F>
  void for_each(F&& f) const {
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      f(std::string_view(text).substr(begin, end - begin));
      begin = end;
    }
  }
};

/// What becomes of a match.
enum class SplitBehavior {
  removed,               ///< it is left out
  isolated,              ///< it is a piece of its own
  merged_with_previous,  ///< it ends the piece before it
  merged_with_next,      ///< it begins the piece after it
  contiguous,            ///< matches side by side are one piece
};

/// Cuts pieces at matches; `invert` cuts at what lies between matches instead.
struct Split {
  TextPattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;

  /// Calls f(begin, end) for each part of a piece, in order.
  template <class F>
  void for_each_part(std::string_view piece, F&& f) const {
    Joiner<F> joiner{behavior, f};
    std::size_t done = 0;
    pattern.for_each_match(piece, [&](std::size_t begin, std::size_t end) {
      if (begin > done) joiner.take({done, begin, invert});
      joiner.take({begin, end, !invert});
      done = end;
    });
    if (done < piece.size()) joiner.take({done, piece.size(), invert});
    joiner.finish();
  }

 private:
  struct Part {
    std::size_t begin, end;
    bool match;
  };

  /// Joins neighbouring parts as the behaviour says. A part waits until it is clear that the next does not join it.
  template <class F>
  struct Joiner {
    SplitBehavior behavior;
    F& f;
    Part waiting = {};
    bool waits = false;  // not an optional: g++ 12 takes its content for uninitialised
    bool after_match = false;

    void take(Part part) {
      if (waits && joins(part)) {
        waiting.end = part.end;
      } else {
        finish();
        waiting = part;
        waits = true;
      }
      after_match = part.match;
      waiting.match = part.match;
    }
    void finish() {
      if (waits && !(behavior == SplitBehavior::removed && waiting.match)) f(waiting.begin, waiting.end);
      waits = false;
    }
    bool joins(const Part& part) const {
      switch (behavior) {
        case SplitBehavior::merged_with_previous:
          return part.match && !after_match;
        case SplitBehavior::merged_with_next:
          return after_match && !part.match;
        case SplitBehavior::contiguous:
          return part.match == after_match;
        default:
          return false;
      }
    }
  };
};

}  // namespace llm
