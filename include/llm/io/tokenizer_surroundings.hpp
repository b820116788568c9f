// What stands beside a tokenizer's file in a Hugging Face folder and says which tokens begin and end a text, and which were added.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/io/json_document.hpp>
#include <llm/io/paths.hpp>
#include <llm/io/tokenizer_json.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/pattern.hpp>
#include <llm/text/bpe/vocabulary.hpp>

namespace llm::detail::tokenizer_json {

/// Of tokenizer_config.json: what is long where a model has very many tokens. The first names all added tokens, the others those that are
/// special once more.
inline constexpr std::string_view long_keys[] = {"added_tokens_decoder", "additional_special_tokens", "extra_special_tokens"};
inline constexpr JsonLimits config_limits{.bytes = max_bytes};

/// Fills in the parts of a tokenizer that its own file leaves open.
class Surroundings {
 public:
  /// Which file the parts came from: a tokenizer.json names all added tokens and has a template, which count; a tokenizer.model has
  /// neither.
  enum class Of : std::uint8_t { tokenizer_json, tokenizer_model };

  Surroundings(std::string folder, BpeParts& parts, Of of = Of::tokenizer_json) : folder_(std::move(folder)), parts_(parts), of_(of) {}

  /// Throws FileError naming file and field.
  void read() {
    const auto config = tokenizer_config();
    if (of_ == Of::tokenizer_model) {
      if (!config || !config->contains(std::string(long_keys[0]))) read_added_tokens();
      parts_.added.keep_last_of_each_id();
    }
    if (config) read_tokenizer_config(*config);
    // The ids that end a generation stand in one of these, the first that has them.
    for (const char* name : {"generation_config.json", "config.json"}) {
      const auto json = read_json_object(path(name), function);
      if (!json || !json->contains(eos_key) || json->at(eos_key).is_null()) continue;
      Fields fields(*json, where(name));
      read_eos_ids(fields);
      break;
    }
  }

 private:
  static constexpr const char* function = "llm::Tokenizer";
  static constexpr const char* eos_key = "eos_token_id";

  std::string path(std::string_view name) const { return inside(folder_, name); }
  std::string where(std::string_view name) const { return concat(function, ": ", path(name)); }

  /// Of a tokenizer.model the added tokens are taken, {"id": {"content": ...}}. They are looked for in the text as it is.
  std::optional<Json> tokenizer_config() {
    constexpr const char* name = "tokenizer_config.json";
    const std::span<const std::string_view> keys = long_keys;
    if (of_ == Of::tokenizer_json) return read_json_object(path(name), function, {.skipped = keys, .limits = config_limits});
    const JsonList added{keys[0], [&](const Json& value, const std::string& place, const std::string& key) {
                           Fields fields = Fields::of_element(value, where(name), place);
                           const std::string content = fields.text("content", "");
                           AddedToken token = flags_of(fields);
                           token.id = id_in(key, place, name);
                           token.content = content;
                           add(token, place, fields);
                         }};
    auto json = read_json_object(path(name), function, {.skipped = keys.subspan(1), .limits = config_limits, .list = added});
    if (json && json->contains(keys[0])) Fields(*json, where(name)).object(keys[0]);  // whose elements have been taken
    return json;
  }
  std::int32_t id_in(const std::string& key, const std::string& place, const char* name) const {
    std::int32_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0) throw FileError(concat(where(name), ": ", place, ": is no id"));
    return id;
  }

  /// Else those of added_tokens.json, {"content": id}. It does not say which of them are special. A token that was taken for text is what
  /// a user could end a turn with.
  void read_added_tokens() {
    constexpr const char* name = "added_tokens.json";
    const JsonList added{{}, [&](const Json& value, const std::string& place, const std::string& content) {
                           const Json object{{content, value}};
                           Fields fields(object, where(name));
                           const auto id = static_cast<std::int32_t>(fields.count(content, 0));
                           add({.id = id, .content = content, .special = true}, place, fields);
                         }};
    read_json_object(path(name), function, {.limits = config_limits, .list = added});
  }

  /// One that the tokenizer.model has as well is found by these flags.
  void add(const AddedToken& token, const std::string& place, Fields& fields) {
    if (token.content.empty()) fields.fail(concat(place, ": the token has no content"));
    if (token.id >= Vocabulary::max_ids) fields.fail(concat(place, ": the id is not below ", Vocabulary::max_ids));
    if (parts_.vocabulary.contains(token.id)) {
      const std::string_view own = parts_.vocabulary.text(token.id);
      if (own != token.content && bpe::with_spaces(own) != token.content)
        fields.fail(concat(place, ": the id is that of ", in_quotes(own), " in tokenizer.model"));
    }
    push_back(parts_.added, token, fields);
  }

  std::optional<std::int32_t> id_of(std::string_view token) const {
    for (std::size_t i = 0; i < parts_.added.size(); ++i)
      if (parts_.added.content(i) == token) return parts_.added.id(i);
    return parts_.vocabulary.find(token);
  }
  /// A token named by its spelling, or by an object with that as "content".
  std::optional<std::int32_t> token(Fields& fields, std::string_view key) const {
    if (!fields.has(key)) return {};
    const std::string name = fields.find(key)->is_object() ? fields.object(key).text("content", "") : fields.text(key, "");
    const auto id = id_of(name);
    if (!id) fields.refuse(key, "a token of the tokenizer");
    return id;
  }

  void read_tokenizer_config(const Json& json) {
    Fields fields(json, where("tokenizer_config.json"));
    if (const auto bos = token(fields, "bos_token")) parts_.bos_id = bos;
    if (const auto eos = token(fields, "eos_token")) parts_.eos_ids = {*eos};
    if (of_ == Of::tokenizer_model) return take_flags(fields);
    if (fields.flag("add_bos_token", false) && parts_.bos_id && parts_.before.empty()) parts_.before = {*parts_.bos_id};
    if (fields.flag("add_eos_token", false) && !parts_.eos_ids.empty() && parts_.after.empty()) parts_.after = parts_.eos_ids;
  }

  void take_flags(Fields& fields) {
    const bool bos = fields.flag("add_bos_token", !parts_.before.empty()), eos = fields.flag("add_eos_token", false);
    parts_.before = bos && parts_.bos_id ? std::vector{*parts_.bos_id} : std::vector<std::int32_t>();
    if (eos && !parts_.eos_ids.empty()) parts_.after = {parts_.eos_ids.front()};
  }

  /// One id or several; one that is no token, as random models have them, ends nothing.
  void read_eos_ids(Fields& fields) {
    std::vector<bool> wanted(static_cast<std::size_t>(Vocabulary::max_ids));  // tokens that do not end a text yet
    for (std::int32_t id = 0; id < parts_.vocabulary.size(); ++id) wanted[static_cast<std::size_t>(id)] = parts_.vocabulary.contains(id);
    for (std::size_t i = 0; i < parts_.added.size(); ++i) {
      const std::int64_t id = parts_.added.id(i);
      if (id >= 0 && id < Vocabulary::max_ids) wanted[static_cast<std::size_t>(id)] = true;
    }
    for (const std::int32_t id : parts_.eos_ids)
      if (id < Vocabulary::max_ids) wanted[static_cast<std::size_t>(id)] = false;
    const auto take = [&](const Json& value) {
      if (!value.is_number_integer()) fields.refuse(eos_key, "an id or an array of ids");
      const auto id = value.get<std::int64_t>();
      if (id < 0 || id >= Vocabulary::max_ids || !wanted[static_cast<std::size_t>(id)]) return;
      wanted[static_cast<std::size_t>(id)] = false;
      parts_.eos_ids.push_back(static_cast<std::int32_t>(id));
    };
    const Json& value = *fields.find(eos_key);
    if (!value.is_array()) return take(value);
    for (const Json& id : value) take(id);
  }

  std::string folder_;
  BpeParts& parts_;
  Of of_;
};

}  // namespace llm::detail::tokenizer_json
