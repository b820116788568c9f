// Unicode normalisation forms: the only file that knows utf8proc.
// Source: Unicode Standard Annex 15; The Unicode Standard, section 3.11 (canonical ordering).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <utf8proc.h>

#include <llm/core/error.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// The four normalisation forms.
enum class UnicodeForm { nfc, nfd, nfkc, nfkd };

namespace detail::bpe {

/// Appends the full decomposition of one character.
inline void decompose(std::vector<utf8proc_int32_t>& out, char32_t character, utf8proc_option_t options) {
  std::array<utf8proc_int32_t, 64> parts;  // the longest has 18
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), parts.data(),
                                             static_cast<utf8proc_ssize_t>(parts.size()), options, &boundary);
  if (count < 0 || static_cast<std::size_t>(count) > parts.size())
    throw ValueError(concat("llm: normalising the character ", static_cast<std::uint32_t>(character), " failed: ", utf8proc_errmsg(count)));
  out.insert(out.end(), parts.begin(), parts.begin() + count);
}

/// Puts the marks after each base in the order of their combining classes. utf8proc's own function takes quadratic time for many marks.
inline void order_marks(std::vector<utf8proc_int32_t>& characters) {
  const auto mark_class = [](utf8proc_int32_t c) { return static_cast<unsigned>(utf8proc_get_property(c)->combining_class); };
  std::vector<std::pair<unsigned, std::size_t>> order;  // class, then place: marks of one class keep their order
  std::vector<utf8proc_int32_t> before;
  for (std::size_t begin = 0; begin < characters.size();) {
    order.clear();
    for (std::size_t at = begin; at < characters.size() && mark_class(characters[at]) != 0; ++at)
      order.emplace_back(mark_class(characters[at]), at - begin);
    if (!std::is_sorted(order.begin(), order.end())) {
      std::sort(order.begin(), order.end());
      const auto first = characters.begin() + static_cast<std::ptrdiff_t>(begin);
      before.assign(first, first + static_cast<std::ptrdiff_t>(order.size()));
      for (std::size_t i = 0; i < order.size(); ++i) characters[begin + i] = before[order[i].second];
    }
    begin += order.size() + 1;
  }
}

}  // namespace detail::bpe

/// The text in a normalisation form. It must be valid UTF-8, else ValueError. ASCII is in every form already.
inline std::string normalize_unicode(std::string_view text, UnicodeForm form) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return std::string(text);
  const bool compatible = form == UnicodeForm::nfkc || form == UnicodeForm::nfkd;
  const bool compose = form == UnicodeForm::nfc || form == UnicodeForm::nfkc;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  for_each_character(text, [&](char32_t c, std::size_t) { detail::bpe::decompose(characters, c, options); });
  detail::bpe::order_marks(characters);
  if (compose) {
    const auto how = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const auto count = utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()), how);
    characters.resize(static_cast<std::size_t>(count));
  }
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t c : characters) append_utf8(out, static_cast<char32_t>(c));
  return out;
}

/// White space as Unicode has it (property White_Space).
constexpr bool is_white_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/// Whether a character belongs to a word: letters, marks, decimal and letter-like numbers, connecting punctuation.
inline bool is_word_character(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0x200C || c == 0x200D;  // joiners
  }
}

}  // namespace llm
