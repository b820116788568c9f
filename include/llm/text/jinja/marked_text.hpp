// A text that remembers which of its bytes a user wrote, so that a chat template's markers and a user's imitations of them can be told
// apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/text/text_range.hpp>

namespace llm::detail::jinja {

/// Bytes, and the ranges of them that came from outside of the template ("plain"). Whatever is cut out or put together keeps its marks.
class MarkedText {
 public:
  MarkedText() = default;
  explicit MarkedText(std::string bytes, bool plain = false) : bytes_(std::move(bytes)) {
    if (plain) mark_all();
  }

  std::string_view bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  const std::vector<TextRange>& plain() const { return plain_; }
  /// What a copy takes, in bytes.
  std::size_t weight() const { return bytes_.size() + sizeof(TextRange) * plain_.size(); }

  void mark_all() {
    plain_.clear();
    if (!bytes_.empty()) plain_.push_back({0, bytes_.size()});
  }

  MarkedText& operator+=(const MarkedText& other) {
    for (const TextRange range : other.plain_) {
      const std::size_t begin = bytes_.size() + range.begin, end = bytes_.size() + range.end;
      if (!plain_.empty() && plain_.back().end == begin)
        plain_.back().end = end;
      else
        plain_.push_back({begin, end});
    }
    bytes_ += other.bytes_;
    return *this;
  }
  friend MarkedText operator+(MarkedText a, const MarkedText& b) { return std::move(a += b); }

  /// `count` bytes from `begin`, both cut to what there is.
  MarkedText substr(std::size_t begin, std::size_t count = std::string::npos) const {
    begin = (std::min)(begin, bytes_.size());
    MarkedText part(bytes_.substr(begin, count));
    if (part.size() == 0) return part;  // a range that it lies in would become an empty one
    const std::size_t end = begin + part.size();
    auto range = std::upper_bound(plain_.begin(), plain_.end(), begin, [](std::size_t at, const TextRange& r) { return at < r.end; });
    for (; range != plain_.end() && range->begin < end; ++range)
      part.plain_.push_back({(std::max)(range->begin, begin) - begin, (std::min)(range->end, end) - begin});
    return part;
  }

  /// The same letters, changed one by one by f(byte).
  template <class F>
  MarkedText map_bytes(F&& f) const {
    MarkedText changed = *this;
    for (char& byte : changed.bytes_) byte = f(byte);
    return changed;
  }

 private:
  std::string bytes_;
  std::vector<TextRange> plain_;  // ascending, apart, none empty
};

}  // namespace llm::detail::jinja
