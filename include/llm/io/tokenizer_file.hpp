// Opens a model's tokenizer, wherever it stands: in a Hugging Face folder, beside a model's file, in a GGUF file, or in a file of its own.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/io/llama2c.hpp>
#include <llm/io/paths.hpp>
#include <llm/io/tokenizer_gguf.hpp>
#include <llm/io/tokenizer_json.hpp>
#include <llm/io/tokenizer_llama2c.hpp>
#include <llm/io/tokenizer_sentencepiece.hpp>
#include <llm/io/tokenizer_surroundings.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/tokenizer.hpp>

namespace llm {

namespace detail::tokenizer_file {

/// The config of a llama2.c model; none for another file.
inline std::optional<Config> llama2c_config(const std::string& path) {
  if (!path.ends_with(".bin")) return {};
  try {
    return Llama2cFile::open(path).config();
  } catch (const Error&) {
    return {};
  }
}

/// The first of the files that is in the folder.
inline std::optional<std::string> first_in(const std::string& folder, std::initializer_list<std::string> names) {
  for (const std::string& name : names)
    if (path_exists(inside(folder, name))) return inside(folder, name);
  return {};
}

/// Whether the path names a model, whose tokenizer stands beside it or in it.
inline bool is_model(const std::string& path) {
  return is_folder(path) || path.ends_with(".gguf") || path.ends_with(".safetensors") ||
         std::filesystem::path(path).filename() == "config.json" || llama2c_config(path).has_value();
}

}  // namespace detail::tokenizer_file

/// The file that the tokenizer of a model stands in, none when there is none. Of a folder, and of a .safetensors file, which lies in one:
/// tokenizer.json, else tokenizer.model. Of a .bin file of llama2.c with 512 tokens: tok512.bin, tok512.model or tokenizer.bin beside it,
/// else the same as of a folder. A .gguf file has its own.
inline std::optional<std::string> find_tokenizer(const std::string& model) {
  using detail::tokenizer_file::first_in;
  if (model.ends_with(".gguf")) return model;
  const std::string folder = detail::model_folder(model);
  if (const auto config = detail::tokenizer_file::llama2c_config(model)) {
    const std::string own = detail::concat("tok", config->vocab_size);
    if (auto found = first_in(folder, {own + ".bin", own + ".model", "tokenizer.bin"})) return found;
  }
  return first_in(folder, {"tokenizer.json", "tokenizer.model"});
}

/// A sentence for a model of which find_tokenizer() finds no tokenizer: what was looked for.
inline std::string why_no_tokenizer(const std::string& model) {
  const auto config = detail::tokenizer_file::llama2c_config(model);
  std::string more;
  if (config) more = detail::concat(", tok", config->vocab_size, ".bin, tok", config->vocab_size, ".model, tokenizer.bin");
  return detail::concat("llm::Tokenizer: ", model, ": has no tokenizer: there is none of tokenizer.json, tokenizer.model", more, " in ",
                        detail::model_folder(model));
}

namespace detail::tokenizer_file {

/// The parts of the tokenizer in a file, but no .gguf file. `beside`: what stands in the same folder is read, too.
inline BpeParts read_parts(const std::string& file, bool beside) {
  using tokenizer_json::Surroundings;
  const auto complete = [&](Surroundings::Of of) {
    return [&file, beside, of](BpeParts& parts) {
      if (beside) Surroundings(os::folder_of(file), parts, of).read();
    };
  };
  if (file.ends_with(".json")) return read_tokenizer_json(file, complete(Surroundings::Of::tokenizer_json));
  if (file.ends_with(".model")) return read_sentencepiece(file, complete(Surroundings::Of::tokenizer_model));
  if (file.ends_with(".bin")) return read_llama2c_tokenizer(file);
  throw FileError(concat("llm::Tokenizer: ", file,
                         path_exists(file) ? ": is no folder, and its name ends in none of .json, .model, .bin, .gguf and .safetensors"
                                           : ": there is no such file or folder"));
}

}  // namespace detail::tokenizer_file

/// The tokenizer of a model: of a Hugging Face folder, a .safetensors or .gguf file, a .bin file of llama2.c (see find_tokenizer; in a
/// folder tokenizer_config.json, added_tokens.json, generation_config.json and config.json say which tokens begin and end a text and which
/// were added). Or a tokenizer alone: a tokenizer.json, a SentencePiece .model, a tokenizer.bin of llama2.c. Throws FileError naming file
/// and field, and what was looked for where there is none.
inline Tokenizer load_tokenizer(const std::string& path) {
  const bool is_model = detail::tokenizer_file::is_model(path);
  const std::optional<std::string> file = is_model ? find_tokenizer(path) : path;
  if (!file) throw FileError(why_no_tokenizer(path));
  if (file->ends_with(".gguf")) return read_gguf_tokenizer(GgufFile::open(*file));
  BpeParts parts = detail::tokenizer_file::read_parts(*file, is_model);
  try {
    return BpeTokenizer(std::move(parts));
  } catch (const ValueError& error) {
    throw FileError(detail::concat("llm::Tokenizer: ", *file, ": ", error.what()));
  }
}

inline Tokenizer Tokenizer::from_file(const std::string& path) { return load_tokenizer(path); }

}  // namespace llm
