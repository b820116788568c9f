// When generation ends: stop tokens, and stop strings found in streamed text.
#pragma once

#include <llm/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llm {

/// What ends a generation before its token limit. Neither the token nor the string becomes part of the text.
struct StopConditions {
  std::vector<std::int32_t> token_ids = {};  ///< ends when one of these is drawn, such as the end-of-text token
  std::vector<std::string> strings = {};     ///< ends when the generated text contains one of these

  bool is_stop_token(std::int32_t id) const { return std::find(token_ids.begin(), token_ids.end(), id) != token_ids.end(); }
};

namespace detail {

/// One string looked for in a stream, byte by byte, without looking back (Knuth, Morris, Pratt).
class StreamPattern {
 public:
  explicit StreamPattern(std::string text) : text_(std::move(text)), border_(text_.size() + 1, 0) {
    for (std::size_t length = 1, border = 0; length < text_.size(); ++length) {
      while (border > 0 && text_[length] != text_[border]) border = border_[border];
      border += text_[length] == text_[border] ? 1 : 0;
      border_[length + 1] = border;
    }
  }

  /// True when the stream now ends with the string; then reset() comes before the next byte.
  bool feed(char byte) {
    while (matched_ > 0 && text_[matched_] != byte) matched_ = border_[matched_];
    matched_ += text_[matched_] == byte ? 1 : 0;
    return matched_ == text_.size();
  }

  /// How many bytes at the end of the stream are the beginning of the string.
  std::size_t matched() const { return matched_; }
  const std::string& text() const { return text_; }
  void reset() { matched_ = 0; }

 private:
  std::string text_;
  std::vector<std::size_t> border_;  // [n]: the longest proper prefix of the first n bytes that is also their suffix
  std::size_t matched_ = 0;
};

}  // namespace detail

/// Passes streamed text on up to the first stop string, and holds back what may turn out to be the beginning of one.
/// The stop string that is complete first ends the text; of two that end at the same byte, the longer. The result does
/// not depend on how the text is cut into pieces. Pieces made of whole UTF-8 characters give pieces of whole characters.
class StopMatcher {
 public:
  /// Throws llm::ValueError for an empty stop string and for one that begins in the middle of a UTF-8 character.
  explicit StopMatcher(std::vector<std::string> stop_strings = {}) {
    patterns_.reserve(stop_strings.size());
    for (std::string& text : stop_strings) {
      if (text.empty()) throw ValueError(detail::concat("llm::StopMatcher: stop string ", patterns_.size(), " is empty"));
      if ((static_cast<unsigned char>(text.front()) & 0xC0u) == 0x80u)
        throw ValueError(detail::concat("llm::StopMatcher: stop string ", patterns_.size(), " begins in the middle of a UTF-8 character"));
      patterns_.emplace_back(std::move(text));
    }
  }

  /// Takes the next piece and returns the text that is safe to show, perhaps empty; after a stop string nothing more.
  /// The view is valid until the next call.
  std::string_view feed(std::string_view piece) {
    text_.erase(0, std::exchange(emitted_, 0));
    if (stopped()) return {};
    for (const char byte : piece) {
      text_.push_back(byte);
      if (complete(byte)) {
        text_.resize(text_.size() - patterns_[*stopped_by_].text().size());
        return emit(text_.size());
      }
    }
    std::size_t held = 0;
    for (const auto& pattern : patterns_) held = (std::max)(held, pattern.matched());
    return emit(text_.size() - held);
  }

  /// The end of the text: returns what was held back. The view is valid until the next call.
  std::string_view finish() {
    text_.erase(0, std::exchange(emitted_, 0));
    for (auto& pattern : patterns_) pattern.reset();
    return emit(text_.size());
  }

  /// True once a stop string was found.
  bool stopped() const { return stopped_by_.has_value(); }
  /// The stop string that was found; empty before.
  std::string_view stop_string() const { return stopped() ? std::string_view(patterns_[*stopped_by_].text()) : std::string_view(); }

  /// Forgets all text, for a new sequence.
  void reset() {
    text_.clear();
    emitted_ = 0;
    stopped_by_.reset();
    for (auto& pattern : patterns_) pattern.reset();
  }

 private:
  /// Feeds every pattern; true when one is complete, the longest of them then being stopped_by_.
  bool complete(char byte) {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (!patterns_[i].feed(byte)) continue;
      if (!stopped() || patterns_[i].text().size() > patterns_[*stopped_by_].text().size()) stopped_by_ = i;
    }
    return stopped();
  }

  std::string_view emit(std::size_t count) {
    emitted_ = count;
    return std::string_view(text_).substr(0, count);
  }

  std::vector<detail::StreamPattern> patterns_;
  std::string text_;         // what the last call returned, then what is held back
  std::size_t emitted_ = 0;  // length of the first part
  std::optional<std::size_t> stopped_by_;
};

}  // namespace llm
