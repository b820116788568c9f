// Normalising a text of which some ranges are plain: the ranges are known afterwards too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/text/bpe/pattern.hpp>
#include <llm/text/bpe/unicode.hpp>
#include <llm/text/text_range.hpp>

namespace llm {

/// A text, and the ranges of it in which nothing is special: ascending, apart.
struct MarkedNormal {
  std::string text;
  std::vector<TextRange> plain = {};

  void add(std::string_view more, bool is_plain) {
    if (more.empty()) return;
    if (is_plain && !plain.empty() && plain.back().end == text.size())
      plain.back().end += more.size();
    else if (is_plain)
      plain.push_back({text.size(), text.size() + more.size()});
    text += more;
  }
};

namespace detail::bpe {

/// Calls f(begin, end, is_plain) for the parts of [begin, end) that are plain and those that are not, in turn. `next` is the first range
/// that does not end before `begin`, and is moved on.
template <class F>
void for_each_run(const MarkedNormal& in, std::size_t begin, std::size_t end, std::size_t& next, F&& f) {
  while (begin < end) {
    while (next < in.plain.size() && in.plain[next].end <= begin) ++next;
    const bool none = next == in.plain.size(), inside = !none && in.plain[next].begin <= begin;
    const std::size_t until = none ? end : inside ? in.plain[next].end : in.plain[next].begin;
    f(begin, until < end ? until : end, inside);
    begin = until;
  }
}

inline MarkedNormal prepend_marked(const MarkedNormal& in, std::string_view prefix) {
  if (in.text.empty()) return in;
  MarkedNormal out{std::string(prefix) + in.text, in.plain};
  for (TextRange& range : out.plain) range = {range.begin + prefix.size(), range.end + prefix.size()};
  return out;
}

/// What replaces something plain, be it in part, is plain.
inline MarkedNormal replace_marked(const MarkedNormal& in, const TextPattern& pattern, std::string_view by) {
  MarkedNormal out;
  std::size_t done = 0, next = 0;
  const auto keep = [&](std::size_t end) {
    for_each_run(in, done, end, next, [&](std::size_t from, std::size_t to, bool is_plain) {
      out.add(std::string_view(in.text).substr(from, to - from), is_plain);
    });
  };
  pattern.for_each_match(in.text, [&](std::size_t begin, std::size_t end) {
    keep(begin);
    bool touched = false;
    for_each_run(in, begin, end, next, [&](std::size_t, std::size_t, bool is_plain) { touched = touched || is_plain; });
    out.add(by, touched);
    check_growth(in.text.size(), out.text.size());
    done = end;
  });
  keep(in.text.size());
  return out;
}

/// A plain part that grows together with what stands beside it makes that plain too.
inline MarkedNormal normalize_marked(const MarkedNormal& in, UnicodeForm form) {
  std::string whole = normalize_unicode(in.text, form);
  if (whole == in.text) return in;
  MarkedNormal out;
  std::string run, normal;
  bool run_is_plain = false;
  std::size_t next = 0;
  for_each_run(in, 0, in.text.size(), next, [&](std::size_t begin, std::size_t end, bool is_plain) {
    const std::string_view more = std::string_view(in.text).substr(begin, end - begin);
    const std::string alone = normalize_unicode(more, form);
    run += more;
    const std::string together = normalize_unicode(run, form);
    if (together == normal + alone) {
      out.add(normal, run_is_plain);
      run = more;
      normal = alone;
      run_is_plain = is_plain;
    } else {
      normal = together;
      run_is_plain = true;
    }
  });
  out.add(normal, run_is_plain);
  if (out.text == whole) return out;
  const std::size_t size = whole.size();
  return {std::move(whole), {{0, size}}};
}

}  // namespace detail::bpe

}  // namespace llm
