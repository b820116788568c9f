// Paths to models and to the files beside them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <llm/detail/os_file.hpp>

namespace llm::detail {

/// Whether there is a file or a folder of this name; false also where the system does not say.
inline bool path_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}
inline bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}
/// The path of a file in a folder.
inline std::string inside(const std::string& folder, std::string_view name) { return (std::filesystem::path(folder) / name).string(); }

/// The folder that has what stands beside a model: the model itself, or the one that its file lies in.
inline std::string model_folder(const std::string& model) { return is_folder(model) ? model : os::folder_of(model); }

}  // namespace llm::detail
