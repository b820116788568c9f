// What happens to a text before it is split: Unicode forms, replacements, a prefix.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <llm/text/bpe/marked_normal.hpp>
#include <llm/text/bpe/pattern.hpp>
#include <llm/text/bpe/unicode.hpp>
#include <llm/text/text_range.hpp>

namespace llm {

/// Steps that change a text, one after the other.
class Normalizer {
 public:
  struct Prepend {
    std::string prefix;  ///< put before a text that is not empty
  };
  struct Replace {
    TextPattern pattern;
    std::string by;
  };
  using Step = std::variant<UnicodeForm, Prepend, Replace>;

  Normalizer() = default;
  explicit Normalizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

  bool empty() const { return steps_.empty(); }
  const std::vector<Step>& steps() const { return steps_; }

  /// The changed text, and which parts of it come from the plain ranges of `text` alone or together with letters beside them.
  MarkedNormal marked(std::string_view text, std::vector<TextRange> plain) const {
    MarkedNormal out{std::string(text), std::move(plain)};
    for (const Step& step : steps_) {
      if (const auto* form = std::get_if<UnicodeForm>(&step))
        out = detail::bpe::normalize_marked(out, *form);
      else if (const auto* prepend = std::get_if<Prepend>(&step))
        out = detail::bpe::prepend_marked(out, prepend->prefix);
      else if (const auto* replace = std::get_if<Replace>(&step))
        out = detail::bpe::replace_marked(out, replace->pattern, replace->by);
      detail::bpe::check_growth(text.size(), out.text.size());
    }
    return out;
  }

  /// The changed text. `text` must be valid UTF-8. Throws ValueError when the steps make it very much longer.
  std::string operator()(std::string_view text) const {
    std::string out(text);
    for (const Step& step : steps_) {
      if (const auto* form = std::get_if<UnicodeForm>(&step))
        out = normalize_unicode(out, *form);
      else if (const auto* prepend = std::get_if<Prepend>(&step))
        out = out.empty() ? std::string() : prepend->prefix + out;
      else if (const auto* replace = std::get_if<Replace>(&step))
        out = replace->pattern.replace(out, replace->by);
      detail::bpe::check_growth(text.size(), out.size());
    }
    return out;
  }

 private:
  std::vector<Step> steps_;
};

}  // namespace llm
