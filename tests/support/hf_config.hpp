// What the tests of config.json readers share: a file from text with changes, and the error that it gives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <llm/io/hf_config.hpp>
#include <llm/model/account_parameters.hpp>
#include <llm/model/config_fields.hpp>

#include <support/catch.hpp>

namespace llm_test {

/// The text with the fields of `changes` in place of its own; a field that is "REMOVED" is taken out.
inline std::string changed(std::string_view text, std::string_view changes) {
  auto json = nlohmann::json::parse(text);
  const auto replaced = nlohmann::json::parse(changes);
  for (const auto& [key, value] : replaced.items()) {
    if (value == "REMOVED")
      json.erase(key);
    else
      json[key] = value;
  }
  return json.dump();
}

/// Where the config that the text gives differs from the expected one; "" when nowhere.
inline std::string differences(std::string_view text, const llm::Config& expected) {
  return llm::config_differences(llm::parse_hf_config(text, "config.json").config, "the file", expected, "the expectation");
}

/// Checks both spellings of one model: the Config, the family and the published parameter count.
inline void check_model(llm::Family family, const llm::Config& expected, std::int64_t parameters, std::string_view v4,
                        std::string_view v5) {
  CHECK(differences(v4, expected) == "");
  CHECK(differences(v5, expected) == "");
  CHECK(llm::parse_hf_config(v4, "config.json").family == family);
  CHECK(llm::parse_hf_config(v5, "config.json").family == family);
  CHECK(llm::parameter_count(llm::parse_hf_config(v4, "config.json").config).total == parameters);
}

/// The text of transformers 4 with its RoPE fields where transformers 5 has them; `more` is a comma and further fields.
inline std::string v5_of(std::string_view v4, std::string_view rope_parameters, std::string_view more = "") {
  return changed(v4, R"({"rope_theta": "REMOVED", "rope_scaling": "REMOVED", "dtype": "bfloat16", "rope_parameters": )" +
                         std::string(rope_parameters) + std::string(more) + "}");
}

/// The error's text, "" when the file is accepted. Every error must name the file.
inline std::string hf_refusal(std::string_view text) {
  try {
    llm::parse_hf_config(text, "dir/config.json");
    return "";
  } catch (const llm::Error& error) {
    const std::string what = error.what();
    return what.find("dir/config.json: ") == std::string::npos ? "does not name the file: " + what : what;
  }
}

}  // namespace llm_test
