// What the fuzzer and the replay of its corpus do with one input: read it as a config.json and use what it gives.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include <llm/io/hf_config.hpp>
#include <llm/model/account_parameters.hpp>
#include <llm/model/rules.hpp>

namespace llm_test {

/// Ends the program when the reader accepts what is no valid config, or when reading it again gives another. True when it was accepted.
inline bool fuzz_hf_config(std::span<const std::byte> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  llm::PublishedConfig published;
  try {
    published = llm::parse_hf_config(text, "input");
  } catch (const llm::FileError&) {
    return false;
  } catch (const llm::ConfigError&) {
    return false;
  }
  if (!llm::validate(published.config).empty() || published.source != "input") std::abort();
  if (llm::parameter_count(published.config).total <= 0) std::abort();
  if (llm::parse_hf_config(text, "again").config != published.config) std::abort();
  return true;
}

}  // namespace llm_test
