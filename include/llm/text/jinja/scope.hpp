// The variables of a template, and which of them can be seen.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

/// Frames inside each other: the template's own variables first, then those of loops and macros.
class Scope {
 public:
  explicit Scope(Dict variables) { frames_.push_back(std::move(variables)); }

  Value find(std::string_view name, const Site& at) const {
    for (std::size_t i = frames_.size(); i > visible_; --i)
      if (const Value* value = frames_[i - 1].find(name, at)) return *value;
    const Value* value = frames_.front().find(name, at);
    return value == nullptr ? Value(Undefined{}) : *value;
  }
  /// Sets a variable of the innermost frame.
  void set(std::string_view name, Value value, const Site& at) { frames_.back().set(name, std::move(value), at); }

  /// A frame inside the others for as long as it lives. A macro sees the template's own variables and its parameters, not those of the
  /// loop it is called in.
  class Frame {
   public:
    enum class Of { loop, macro };
    Frame(Scope& scope, Of of) : scope_(scope), visible_outside_(scope.visible_) {
      if (of == Of::macro) scope.visible_ = scope.frames_.size();
      scope.frames_.emplace_back();
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    ~Frame() {
      scope_.frames_.pop_back();
      scope_.visible_ = visible_outside_;
    }

   private:
    Scope& scope_;
    std::size_t visible_outside_;
  };

 private:
  std::vector<Dict> frames_;
  std::size_t visible_ = 1;  // the outermost that is seen besides the template's own
};

}  // namespace llm::detail::jinja
