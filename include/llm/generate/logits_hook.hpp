// A callable that may change logits before a token is drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace llm {

/// Any callable f(std::span<float> logits, std::span<const std::int32_t> ids): it may change the logits [V] of the next token before that
/// is drawn, such as to -inf for a token that must not come; `ids` are the prompt and the tokens so far. Called once for each token drawn,
/// in their order. What it throws passes through, and the token is not drawn. Copies share the callable. (std::function would cost every
/// program that includes a model the time of its header.)
class LogitsHook {
 public:
  LogitsHook() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, LogitsHook>) LogitsHook(F&& f)
      : callable_(std::make_shared<std::decay_t<F>>(std::forward<F>(f))), call_(&call<std::decay_t<F>>) {
    static_assert(takes_logits<std::decay_t<F>>,
                  "llm::LogitsHook: must be callable as f(std::span<float> logits, std::span<const llm::Token> ids)");
  }

  explicit operator bool() const { return call_ != nullptr; }
  void operator()(std::span<float> logits, std::span<const std::int32_t> ids) const { call_(callable_.get(), logits, ids); }

 private:
  template <class F>
  static constexpr bool takes_logits = std::is_invocable_v<F&, std::span<float>, std::span<const std::int32_t>>;

  template <class F>
  static void call([[maybe_unused]] void* callable, [[maybe_unused]] std::span<float> logits,
                   [[maybe_unused]] std::span<const std::int32_t> ids) {
    if constexpr (takes_logits<F>) (*static_cast<F*>(callable))(logits, ids);
  }

  std::shared_ptr<void> callable_;
  void (*call_)(void*, std::span<float>, std::span<const std::int32_t>) = nullptr;
};

}  // namespace llm
