// The characters of a JSON text on their way to the parser, with a limit on what one token may take.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/io/page_release.hpp>

namespace llm::detail {

/// The longest name, value or gap of a JSON text: the parser holds one of them in memory.
inline constexpr std::size_t max_json_token_bytes = std::size_t{1} << 20;

/// The characters of a JSON text, as the pair of iterators that the parser takes. Ends the parse when one token grows without limit.
class JsonText {
 public:
  /// `where` begins each error; `part` is what the text is called in one: "header", "file".
  JsonText(std::string where, std::string_view part, std::span<const std::byte> text, ReleasePages release = nullptr)
      : where_(std::move(where)), part_(part), text_(text), release_(text.data(), release, std::size_t{1} << 18) {}

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    iterator() = default;
    iterator(JsonText* text, std::size_t at) : text_(text), at_(at) {}
    char operator*() const { return text_->character(at_); }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    iterator operator++(int) {
      iterator old = *this;
      ++at_;
      return old;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

   private:
    JsonText* text_ = nullptr;
    std::size_t at_ = 0;
  };

  iterator begin() { return {this, 0}; }
  iterator end() { return {this, text_.size()}; }
  void token_read() { token_start_ = position_; }
  [[noreturn]] void fail(std::string_view reason) const {
    throw FileError(concat(where_, ": ", reason, " (near byte ", position_, " of the ", part_, ")"));
  }

 private:
  char character(std::size_t at) {
    position_ = at;
    if (at - token_start_ > max_json_token_bytes) fail("a name, value or gap is longer than 1 MiB");
    release_.passed(at);
    return static_cast<char>(text_[at]);
  }

  std::string where_;
  std::string_view part_;
  std::span<const std::byte> text_;
  PageRelease release_;
  std::size_t position_ = 0, token_start_ = 0;
};

}  // namespace llm::detail
