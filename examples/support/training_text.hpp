// The text that a program trains on: a file of the user's, or the library's own headers and documentation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/data/text_file.hpp>
#include <llm/text/strip_ansi.hpp>

namespace examples {

/// A UTF-8 file without terminal colour codes; an empty path means the headers and Markdown files below the source folder, in the
/// order of their names. Throws llm::FileError.
inline std::string training_text(const std::string& path, const std::string& source_folder) {
  namespace fs = std::filesystem;
  if (!path.empty()) return llm::strip_ansi(llm::read_text(path));
  std::vector<std::string> files;
  std::error_code missing;
  for (const char* folder : {"/include", "/docs"})
    for (fs::recursive_directory_iterator at(source_folder + folder, missing), end; at != end; ++at)
      if (const auto kind = at->path().extension(); kind == ".hpp" || kind == ".md") files.push_back(at->path().string());
  if (files.empty()) throw llm::FileError("the library's sources are not in " + source_folder + " any more (hint: --data FILE)");
  std::sort(files.begin(), files.end());
  std::string text;
  for (const std::string& file : files) text += llm::read_text(file);
  return text;
}

/// FNV-1a, to notice that a text is not the one that training began with.
inline std::string fingerprint(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return std::to_string(hash);
}

}  // namespace examples
