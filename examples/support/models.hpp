// The models that the programs train and generate with: a table of compiled-in configs, found by name or by a checkpoint's config.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <llm/configs/train.hpp>
#include <llm/core/error.hpp>
#include <llm/model/config.hpp>
#include <llm/model/config_fields.hpp>

namespace examples {

/// The vocabulary sizes among which a text's tokenizer chooses the smallest that holds it: alphabets, Chinese poems, Chinese novels. Each
/// one is compiled for each architecture, so there are few.
inline constexpr std::array<std::int64_t, 3> vocabularies{512, 4096, 8192};

namespace detail {

template <const llm::Config& C>
struct Entry {
  std::string_view name;
};

/// Calls f(entry) for each architecture with a vocabulary of V tokens until one returns true; whether one did.
template <std::int64_t V, class F>
bool any_of_vocabulary(F& f) {
  using namespace llm::configs;
  return f(Entry<modern_small<V>>{"modern_small"}) || f(Entry<llama_small<V>>{"llama_small"}) || f(Entry<gpt2_small<V>>{"gpt2_small"});
}

template <class F>
bool any_model(F&& f) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return (any_of_vocabulary<vocabularies[I]>(f) || ...); }
  (std::make_index_sequence<vocabularies.size()>());
}

}  // namespace detail

/// Calls f.template operator()<C>(name) for the compiled-in config that equals a checkpoint's. Throws ConfigError when none does.
template <class F>
void with_model(const llm::Config& config, F&& f) {
  const bool found = detail::any_model([&]<const llm::Config & C>(detail::Entry<C> entry) {
    if (!llm::config_differences(C, "", config, "").empty()) return false;
    f.template operator()<C>(entry.name);
    return true;
  });
  if (!found) throw llm::ConfigError("the checkpoint's config is none of those compiled into this program (examples/support/models.hpp)");
}

/// Calls f.template operator()<C>(name) for the compiled-in config of that name whose vocabulary is the smallest that holds `tokens`
/// tokens. Throws ConfigError naming the choices when there is none of that name, and when no vocabulary is large enough.
template <class F>
void with_model(std::string_view name, std::int64_t tokens, F&& f) {
  const auto vocabulary = std::find_if(vocabularies.begin(), vocabularies.end(), [&](std::int64_t size) { return tokens <= size; });
  if (vocabulary == vocabularies.end())
    throw llm::ConfigError("the text has " + std::to_string(tokens) + " different characters, the largest compiled-in vocabulary is " +
                           std::to_string(vocabularies.back()) + " (examples/support/models.hpp)");
  std::string names;
  const bool found = detail::any_model([&]<const llm::Config & C>(detail::Entry<C> entry) {
    if (C.vocab_size != *vocabulary) return false;
    names += std::string(names.empty() ? "" : ", ") + std::string(entry.name);
    if (entry.name != name) return false;
    f.template operator()<C>(entry.name);
    return true;
  });
  if (!found) throw llm::ConfigError("no config is named " + std::string(name) + "; there are " + names);
}

}  // namespace examples
