// Reads the chat template that comes with a model: in its folder, in tokenizer_config.json, or in a GGUF file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/gguf_metadata.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/io/json_document.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/paths.hpp>
#include <llm/io/tokenizer_file.hpp>
#include <llm/text/chat.hpp>

namespace llm {

namespace detail::chat_file {

inline constexpr std::string_view gguf_key = "tokenizer.chat_template";

[[noreturn]] inline void refuse(const std::string& path, std::string_view reason) {
  throw FileError(concat("llm::read_chat_template: ", path, ": ", reason));
}

/// A copy of a template that stands in the file.
inline std::string copy_of(const std::string& path, std::string_view text) {
  if (text.size() > ChatTemplate::max_source_bytes) refuse(path, "is too large for a template");
  return std::string(text);
}

inline std::string text_of(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return copy_of(path, {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
}

/// Of a JSON object: "chat_template" is the template, or a list of named ones, of which "default" counts.
inline std::optional<std::string> field_of(const std::string& path) {
  const auto json =
      read_json_object(path, "llm::read_chat_template", {.skipped = tokenizer_json::long_keys, .limits = tokenizer_json::config_limits});
  if (!json || !json->contains("chat_template") || json->at("chat_template").is_null()) return {};
  const nlohmann::json& found = json->at("chat_template");
  if (found.is_string()) return found.get<std::string>();
  if (!found.is_array()) refuse(path, "chat_template is neither a string nor a list");
  for (const nlohmann::json& one : found) {
    if (!one.is_object() || !one.contains("name") || !one.contains("template") || !one.at("template").is_string())
      refuse(path, "chat_template has an element without a name and a template");
    if (one.at("name") == "default") return one.at("template").get<std::string>();
  }
  refuse(path, "chat_template has no template named 'default'");
}

}  // namespace detail::chat_file

/// The source of the chat template of a Hugging Face folder, or of the one that a model's file lies in (chat_template.jinja,
/// chat_template.json or tokenizer_config.json, the first that is there), or of a .gguf file; none when the model has none. Throws
/// FileError naming the file.
inline std::optional<std::string> read_chat_template(const std::string& path) {
  if (path.ends_with(".gguf")) {
    const GgufFile file = GgufFile::open(path);
    const GgufValue* value = file.find_metadata(detail::chat_file::gguf_key);
    if (value == nullptr) return {};
    const auto text = value->text();
    if (!text) detail::chat_file::refuse(path, detail::concat("key '", detail::chat_file::gguf_key, "' is no string"));
    return detail::chat_file::copy_of(path, *text);
  }
  if (path.ends_with(".jinja")) return detail::chat_file::text_of(path);
  const auto beside = [&](const char* name) { return detail::inside(detail::model_folder(path), name); };
  if (detail::path_exists(beside("chat_template.jinja"))) return detail::chat_file::text_of(beside("chat_template.jinja"));
  for (const char* name : {"chat_template.json", "tokenizer_config.json"})
    if (auto found = detail::chat_file::field_of(beside(name))) return found;
  return {};
}

/// Sets the key of a GGUF file's chat template to that of a Hugging Face folder; does nothing when the folder has none. Throws FileError.
inline void set_gguf_chat_template(GgufMetadata& out, const std::string& folder) {
  if (auto found = read_chat_template(folder)) out.set(std::string(detail::chat_file::gguf_key), *std::move(found));
}

/// The tokenizer and the chat template of a model, from its folder, or from its file and what stands beside it. `name`: one of
/// known_chat_templates() instead, or a .jinja file. Throws FileError when the model has no template, or one that uses what is not known;
/// ValueError for an unknown name.
inline ChatFormat load_chat_format(const std::string& path, const std::string& name = "") {
  Tokenizer tokenizer = Tokenizer::from_file(path);
  if (!name.empty() && !name.ends_with(".jinja")) return ChatFormat(std::move(tokenizer), ChatTemplate::named(name));
  const std::string& from = name.empty() ? path : name;
  std::string names;
  for (const KnownChatTemplate& known : known_chat_templates()) names += (names.empty() ? "" : ", ") + std::string(known.name);
  const auto source = read_chat_template(from);
  if (!source)
    throw FileError(detail::concat("llm::load_chat_format: ", from,
                                   ": has no chat template (hint: give the one that the model was trained ", "with: ", names,
                                   ", or a .jinja file)"));
  try {
    return ChatFormat(std::move(tokenizer), ChatTemplate(*source));
  } catch (const ValueError& error) {
    throw FileError(detail::concat("llm::load_chat_format: ", from, ": ", error.what(), " (hint: one of ", names, " may do instead)"));
  }
}

}  // namespace llm
