// What running a template may cost, in about bytes made, bytes read or nanoseconds. Templates come with files, which may be hostile.
#pragma once

#include <cstddef>

#include <llm/text/jinja/lexer.hpp>

namespace llm::detail::jinja {

/// The work that is left to a template.
class Budget {
 public:
  explicit Budget(std::size_t work) : left_(work) {}

  /// Throws ValueError when there is not that much left. Called before the work is done.
  void spend(std::size_t work, std::size_t line) {
    if (work > left_) fail(line, "the template makes too much of these messages");
    left_ -= work;
  }

 private:
  std::size_t left_;
};

/// Where in a template something is done, and what pays for it.
struct Site {
  std::size_t line;
  Budget* budget;

  void spend(std::size_t work) const { budget->spend(work, line); }
  /// For finding a text of so many bytes in another, in the worst case.
  void spend_on_search(std::size_t text, std::size_t what) const { spend(text * (1 + what / 16)); }
};

/// A list of more is refused: no conversation needs it.
inline void check_elements(std::size_t count, const Site& at) {
  constexpr std::size_t most = std::size_t{1} << 18;
  if (count > most) fail(at.line, "a list of more than ", most, " elements");
}

}  // namespace llm::detail::jinja
