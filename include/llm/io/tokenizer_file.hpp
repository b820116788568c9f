// Opens a model's tokenizer, wherever it stands: in a Hugging Face folder, a tokenizer.json or a GGUF file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/io/json_document.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/tokenizer_gguf.hpp>
#include <llm/io/tokenizer_json.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/tokenizer.hpp>

namespace llm {

namespace detail::tokenizer_json {

/// What stands beside a tokenizer.json and says which tokens begin and end a text.
class Surroundings {
 public:
  Surroundings(std::string folder, BpeParts& parts) : folder_(std::move(folder)), parts_(parts) {}

  void read() {
    if (const auto json = object("tokenizer_config.json")) read_tokenizer_config(*json);
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
    if (!id) fields.refuse(key, "a token of tokenizer.json");
    return id;
  }

  void read_tokenizer_config(const Json& json) {
    Fields fields(json, concat("llm::Tokenizer: ", inside("tokenizer_config.json")));
    if (const auto bos = token(fields, "bos_token")) parts_.bos_id = bos;
    if (const auto eos = token(fields, "eos_token")) parts_.eos_ids = {*eos};
    if (fields.flag("add_bos_token", false) && parts_.bos_id && parts_.before.empty()) parts_.before = {*parts_.bos_id};
    if (fields.flag("add_eos_token", false) && !parts_.eos_ids.empty() && parts_.after.empty()) parts_.after = parts_.eos_ids;
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
};

}  // namespace detail::tokenizer_json

/// The tokenizer of a Hugging Face folder (tokenizer.json; tokenizer_config.json, generation_config.json and config.json beside it say
/// which tokens begin and end a text), of a tokenizer.json alone, or of a .gguf file. Throws FileError naming file and field.
inline Tokenizer load_tokenizer(const std::string& path) {
  std::error_code ignored;
  if (path.ends_with(".gguf")) return read_gguf_tokenizer(GgufFile::open(path));
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::string file = folder ? (std::filesystem::path(path) / "tokenizer.json").string() : path;
  if (folder && !std::filesystem::exists(file, ignored))
    throw FileError(detail::concat("llm::Tokenizer: ", path, ": has no tokenizer.json",
                                   std::filesystem::exists(std::filesystem::path(path) / "tokenizer.model", ignored)
                                       ? " (hint: llm::SentencePieceTokenizer reads its tokenizer.model)"
                                       : ""));
  if (!folder && !path.ends_with(".json"))
    throw FileError(detail::concat("llm::Tokenizer: ", path, ": is no folder, and its name ends in neither .json nor .gguf"));
  BpeParts parts = read_tokenizer_json(file);
  if (folder) detail::tokenizer_json::Surroundings(path, parts).read();
  try {
    return BpeTokenizer(std::move(parts));
  } catch (const ValueError& error) {
    throw FileError(detail::concat("llm::Tokenizer: ", file, ": ", error.what()));
  }
}

inline Tokenizer Tokenizer::from_file(const std::string& path) { return load_tokenizer(path); }

}  // namespace llm
