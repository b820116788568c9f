// Regular expressions with Unicode properties: the only file that knows PCRE2.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8  // names below say their width, so another one of the user's does not matter
#endif
#include <pcre2.h>

#if PCRE2_MAJOR * 100 + PCRE2_MINOR < 1040
#error "llm: PCRE2 10.40 or newer is needed, for properties such as White_Space"
#endif

#include <llm/core/error.hpp>
#include <llm/text/bpe/regex_syntax.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// A pattern of a tokenizer, as tokenizer.json spells it. Copies share the compiled form; many threads may use one.
class Regex {
 public:
  /// Throws ValueError naming the pattern and what is wrong with it or not supported.
  explicit Regex(std::string pattern) : pattern_(std::move(pattern)) {
    std::string text;
    try {
      text = detail::bpe::RegexSyntax::to_pcre2(pattern_);
    } catch (const ValueError& error) {
      fail(error.what());
    }
    const std::unique_ptr<pcre2_compile_context_8, FreeCompileContext> context(pcre2_compile_context_create_8(nullptr));
    if (!context) throw std::bad_alloc();
    pcre2_set_max_pattern_length_8(context.get(), 1 << 16);
    pcre2_set_newline_8(context.get(), PCRE2_NEWLINE_LF);
    // Oniguruma's ^ and $ stand at lines, its properties are Unicode's.
    constexpr std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    int error = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile_8(bytes_of(text), text.size(), options, &error, &at, context.get()), FreeCode());
    if (!code_) fail(detail::concat("is no regular expression: ", message_of(error)));
  }

  const std::string& pattern() const { return pattern_; }

  /// Calls f(begin, end) for each match in turn. `text` must be valid UTF-8. As in Oniguruma's users, a match of nothing right behind
  /// another match does not count. Throws ValueError when the matches take too many steps or too much memory.
  template <class F>
  void for_each_match(std::string_view text, F&& f) const {
    const std::unique_ptr<pcre2_match_data_8, FreeMatchData> found(pcre2_match_data_create_8(1, nullptr));
    const std::unique_ptr<pcre2_match_context_8, FreeMatchContext> context(pcre2_match_context_create_8(nullptr));
    if (!found || !context) throw std::bad_alloc();
    // 256 bytes of memory for each of the text.
    pcre2_set_heap_limit_8(context.get(), static_cast<std::uint32_t>(64 * 1024 + (std::min)(text.size() / 4, std::size_t{1} << 31)));
    Steps steps(text.size());
    bool matched = false;
    std::size_t at = 0, last_end = 0;
    while (at <= text.size()) {
      const int result = steps.match(*context, [&] {
        return pcre2_match_8(code_.get(), bytes_of(text), text.size(), at, PCRE2_NO_UTF_CHECK, found.get(), context.get());
      });
      if (result == PCRE2_ERROR_NOMATCH) return;
      if (result < 0) fail(detail::concat("cannot be matched with a text of ", text.size(), " bytes: ", message_of(result)));
      const PCRE2_SIZE* const place = pcre2_get_ovector_pointer_8(found.get());
      const std::size_t begin = place[0], end = place[1];
      if (begin == end && matched && end == last_end) {
        at = end == text.size() ? end + 1 : end + read_utf8(text, end).length;
        continue;
      }
      f(begin, end);
      matched = true;
      at = last_end = end;
    }
  }

 private:
  struct FreeCode {
    void operator()(pcre2_code_8* code) const { pcre2_code_free_8(code); }
  };
  struct FreeCompileContext {
    void operator()(pcre2_compile_context_8* context) const { pcre2_compile_context_free_8(context); }
  };
  struct FreeMatchContext {
    void operator()(pcre2_match_context_8* context) const { pcre2_match_context_free_8(context); }
  };
  struct FreeMatchData {
    void operator()(pcre2_match_data_8* data) const { pcre2_match_data_free_8(data); }
  };

  static PCRE2_SPTR8 bytes_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR8>(text.data()); }
  static std::string message_of(int error) {
    PCRE2_UCHAR8 text[160];
    const int length = pcre2_get_error_message_8(error, text, sizeof text);
    return std::string(reinterpret_cast<const char*>(text), length > 0 ? static_cast<std::size_t>(length) : 0);
  }
  [[noreturn]] void fail(std::string_view reason) const {
    throw ValueError(detail::concat("the pattern ", detail::in_quotes(pattern_), " ", reason));
  }

  /// What all matches with one text may cost: an honest pattern looks at a stretch of text a few times, one that was made to be slow,
  /// without end. PCRE2 does not say how many steps a match took. So each is tried with a few steps first, then with more and more, and
  /// what goes beyond the first few is paid for from one sum.
  class Steps {
   public:
    explicit Steps(std::size_t bytes) : left_(1'000'000 + 50 * bytes) {}

    template <class Match>
    int match(pcre2_match_context_8& context, const Match& match) {
      constexpr std::size_t free = 256, most = 0xffffffffu;
      for (std::size_t limit = free;; limit *= 4) {
        limit = (std::min)({limit, left_, most});
        pcre2_set_match_limit_8(&context, static_cast<std::uint32_t>(limit));
        const int result = match();
        const bool too_few = result == PCRE2_ERROR_MATCHLIMIT;
        if (too_few || limit > free) left_ -= limit;
        if (!too_few || left_ == 0 || limit == most) return result;
      }
    }

   private:
    std::size_t left_;
  };

  std::string pattern_;
  std::shared_ptr<pcre2_code_8> code_;
};

}  // namespace llm
