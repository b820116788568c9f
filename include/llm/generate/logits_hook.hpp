// A callable that may change logits before a token is drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <llm/core/error.hpp>

namespace llm {

/// Any copyable callable f(std::span<float> logits, std::span<const std::int32_t> ids): it may change the logits [V] of the next token
/// before that is drawn, such as to -inf for a token that must not come; `ids` are the prompt and the tokens so far. Called once for each
/// token drawn, in their order. What it throws passes through, and the token is not drawn. A copy has a copy of the callable, and each
/// generation calls a copy of its own: a state that it holds begins anew there (one that it refers to is shared). Throws ValueError for a
/// null pointer to a function. (std::function would cost every program that includes a model the time of its header.)
class LogitsHook {
 public:
  LogitsHook() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, LogitsHook>) LogitsHook(F&& f) {
    using Decayed = std::decay_t<F>;
    static_assert(takes_logits<Decayed>,
                  "llm::LogitsHook: must be callable as f(std::span<float> logits, std::span<const llm::Token> ids)");
    static_assert(std::is_copy_constructible_v<Decayed>,
                  "llm::LogitsHook: must be copyable, since each generation calls a copy of its own (hint: capture a std::shared_ptr)");
    if constexpr (std::is_pointer_v<std::remove_cvref_t<F>>)
      if (f == nullptr) throw ValueError("llm::LogitsHook: the pointer to a function is null");
    if constexpr (takes_logits<Decayed> && std::is_copy_constructible_v<Decayed>)
      callable_ = std::make_unique<Holding<Decayed>>(std::forward<F>(f));
  }
  LogitsHook(const LogitsHook& other) : callable_(other.callable_ ? other.callable_->clone() : nullptr) {}
  LogitsHook(LogitsHook&&) = default;
  LogitsHook& operator=(LogitsHook other) {
    callable_ = std::move(other.callable_);
    return *this;
  }
  ~LogitsHook() = default;

  explicit operator bool() const { return callable_ != nullptr; }
  void operator()(std::span<float> logits, std::span<const std::int32_t> ids) { callable_->call(logits, ids); }

 private:
  template <class F>
  static constexpr bool takes_logits = std::is_invocable_v<F&, std::span<float>, std::span<const std::int32_t>>;

  struct Callable {
    virtual ~Callable() = default;
    virtual void call(std::span<float> logits, std::span<const std::int32_t> ids) = 0;
    virtual std::unique_ptr<Callable> clone() const = 0;
  };
  template <class F>
  struct Holding final : Callable {
    template <class From>
    explicit Holding(From&& from) : f(std::forward<From>(from)) {}
    void call(std::span<float> logits, std::span<const std::int32_t> ids) override { f(logits, ids); }
    std::unique_ptr<Callable> clone() const override { return std::make_unique<Holding>(f); }
    F f;
  };

  std::unique_ptr<Callable> callable_;
};

}  // namespace llm
