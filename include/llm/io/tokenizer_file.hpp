// Opens a model's tokenizer, wherever it stands: in a Hugging Face folder, a tokenizer.json, a SentencePiece model or a GGUF file.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/io/tokenizer_gguf.hpp>
#include <llm/io/tokenizer_json.hpp>
#include <llm/io/tokenizer_sentencepiece.hpp>
#include <llm/io/tokenizer_surroundings.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/tokenizer.hpp>

namespace llm {

namespace detail::tokenizer_json {

/// The parts of the tokenizer in a folder: of its tokenizer.json, else its tokenizer.model; and the file's path.
inline std::pair<BpeParts, std::string> read_folder(const std::string& folder) {
  const auto inside = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  std::error_code ignored;
  const bool json = std::filesystem::exists(inside("tokenizer.json"), ignored);
  if (!json && !std::filesystem::exists(inside("tokenizer.model"), ignored))
    throw FileError(concat("llm::Tokenizer: ", folder, ": has neither tokenizer.json nor tokenizer.model"));
  std::string file = inside(json ? "tokenizer.json" : "tokenizer.model");
  BpeParts parts = json ? read_tokenizer_json(file) : read_sentencepiece(file);
  Surroundings(folder, parts, json ? Surroundings::Of::tokenizer_json : Surroundings::Of::tokenizer_model).read();
  return {std::move(parts), std::move(file)};
}

/// The same of a path that load_tokenizer() takes, but no .gguf file.
inline std::pair<BpeParts, std::string> read_parts(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return read_folder(path);
  if (path.ends_with(".safetensors")) return read_folder(os::folder_of(path));
  if (path.ends_with(".json")) return {read_tokenizer_json(path), path};
  if (path.ends_with(".model")) return {read_sentencepiece(path), path};
  throw FileError(concat("llm::Tokenizer: ", path, ": is no folder, and its name ends in none of .json, .model, .gguf and .safetensors"));
}

}  // namespace detail::tokenizer_json

/// The tokenizer of a Hugging Face folder (tokenizer.json, else tokenizer.model; tokenizer_config.json, added_tokens.json,
/// generation_config.json and config.json beside it say which tokens begin and end a text and which were added) or of the one that a
/// .safetensors file lies in, of a tokenizer.json or a SentencePiece .model file alone, or of a .gguf file. Throws FileError naming file
/// and field.
inline Tokenizer load_tokenizer(const std::string& path) {
  if (path.ends_with(".gguf")) return read_gguf_tokenizer(GgufFile::open(path));
  auto [parts, file] = detail::tokenizer_json::read_parts(path);
  try {
    return BpeTokenizer(std::move(parts));
  } catch (const ValueError& error) {
    throw FileError(detail::concat("llm::Tokenizer: ", file, ": ", error.what()));
  }
}

inline Tokenizer Tokenizer::from_file(const std::string& path) { return load_tokenizer(path); }

}  // namespace llm
