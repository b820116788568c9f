// What stands beside a tokenizer's file in a Hugging Face folder and says which tokens begin and end a text, and which were added.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/io/json_document.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/tokenizer_json.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/pattern.hpp>
#include <llm/text/bpe/vocabulary.hpp>

namespace llm::detail::tokenizer_json {

/// Fills in the parts of a tokenizer that its own file leaves open.
class Surroundings {
 public:
  /// Which file the parts came from: a tokenizer.json names all added tokens and has a template, which count; a tokenizer.model has
  /// neither.
  enum class Of : std::uint8_t { tokenizer_json, tokenizer_model };

  Surroundings(std::string folder, BpeParts& parts, Of of = Of::tokenizer_json) : folder_(std::move(folder)), parts_(parts), of_(of) {}

  /// Throws FileError naming file and field.
  void read() {
    const auto config = object("tokenizer_config.json");
    if (of_ == Of::tokenizer_model) read_added(config);
    if (config) read_tokenizer_config(*config);
    // The ids that end a generation stand in one of these, the first that has them.
    for (const char* name : {"generation_config.json", "config.json"}) {
      const auto json = object(name);
      if (!json || !json->contains("eos_token_id") || json->at("eos_token_id").is_null()) continue;
      Fields fields(*json, concat("llm::Tokenizer: ", inside(name)));
      read_eos_ids(fields);
      break;
    }
  }

 private:
  std::string inside(std::string_view name) const { return (std::filesystem::path(folder_) / name).string(); }
  std::optional<Json> object(std::string_view name) const {
    std::error_code ignored;
    if (!std::filesystem::exists(inside(name), ignored)) return {};
    constexpr JsonLimits limits{.values = 131'072};  // tokenizer_config.json repeats the added tokens
    const MappedFile file = MappedFile::open(inside(name));
    return parse_json_object(file.bytes(), concat("llm::Tokenizer: ", inside(name)), {}, limits);
  }

  std::optional<std::int32_t> id_of(std::string_view token) const {
    for (const AddedToken& added : parts_.added)
      if (added.content == token) return added.id;
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
    Fields fields(json, concat("llm::Tokenizer: ", inside("tokenizer_config.json")));
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

  /// Tokens beside those of a tokenizer.model: added_tokens_decoder of tokenizer_config.json, {"id": {"content": ...}}, else
  /// added_tokens.json, {"content": id}. They are looked for in the text as it is.
  void read_added(const std::optional<Json>& config) {
    for (std::size_t i = 0; i < parts_.added.size(); ++i) place_of_.emplace(parts_.added[i].id, i);
    if (config && config->contains("added_tokens_decoder")) {
      Fields fields(*config, concat("llm::Tokenizer: ", inside("tokenizer_config.json")));
      Fields all = fields.object("added_tokens_decoder");
      for (const auto& [key, ignored] : all.json().items()) {
        Fields token = all.object(key);
        add({.id = id_in(all, key),
             .content = token.text("content", ""),
             .single_word = token.flag("single_word", false),
             .lstrip = token.flag("lstrip", false),
             .rstrip = token.flag("rstrip", false),
             .special = token.flag("special", false)},
            all, key);
      }
    } else if (const auto json = object("added_tokens.json")) {
      // It does not say which of them are special. A token that was taken for text is what a user could end a turn with.
      Fields all(*json, concat("llm::Tokenizer: ", inside("added_tokens.json")));
      for (const auto& [content, ignored] : json->items())
        add({.id = static_cast<std::int32_t>(all.count(content, 0)), .content = content, .special = true}, all, content);
    }
  }
  static std::int32_t id_in(Fields& fields, const std::string& key) {
    std::int32_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0) fields.fail_at(key, "is no id");
    return id;
  }
  /// One that the tokenizer.model has as well keeps its place and takes the flags.
  void add(AddedToken token, Fields& fields, const std::string& key) {
    if (token.content.empty()) fields.fail_at(key, "the token has no content");
    if (token.id >= Vocabulary::max_ids) fields.fail_at(key, concat("the id is not below ", Vocabulary::max_ids));
    if (parts_.vocabulary.contains(token.id)) {
      const std::string_view own = parts_.vocabulary.text(token.id);  // U+2581 is a space there
      if (own != token.content && TextPattern(std::string("\xE2\x96\x81")).replace(own, " ") != token.content)
        fields.fail_at(key, concat("the id is that of ", in_quotes(own), " in tokenizer.model"));
    }
    const auto [place, is_new] = place_of_.emplace(token.id, parts_.added.size());
    if (is_new) return parts_.added.push_back(std::move(token));
    AddedToken& known = parts_.added[place->second];
    token.special = token.special || known.special;
    known = std::move(token);
  }

  /// One id or several; one that is no token, as random models have them, ends nothing.
  void read_eos_ids(Fields& fields) {
    const Json& value = *fields.find("eos_token_id");
    const auto take = [&](const Json& id) {
      if (!id.is_number_integer()) fields.refuse("eos_token_id", "an id or an array of ids");
      const auto number = id.get<std::int64_t>();
      const bool known = number >= 0 && number < Vocabulary::max_ids &&
                         (parts_.vocabulary.contains(number) ||
                          std::any_of(parts_.added.begin(), parts_.added.end(), [&](const AddedToken& t) { return t.id == number; }));
      const auto as_id = static_cast<std::int32_t>(known ? number : 0);
      if (known && std::find(parts_.eos_ids.begin(), parts_.eos_ids.end(), as_id) == parts_.eos_ids.end()) parts_.eos_ids.push_back(as_id);
    };
    if (!value.is_array()) return take(value);
    for (const Json& id : value) take(id);
  }

  std::string folder_;
  BpeParts& parts_;
  Of of_;
  std::unordered_map<std::int32_t, std::size_t> place_of_;  // of an added token, by its id
};

}  // namespace llm::detail::tokenizer_json
