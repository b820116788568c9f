// A folder that appears in one step with everything in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>

namespace llm::detail {

/// Files are written to `<path>.tmp`; commit() renames it to `path`, which must not exist, or be an empty folder. What is not committed is
/// removed. Every error is a FileError that names the folder.
class NewFolder {
 public:
  explicit NewFolder(const std::string& path) : path_(std::filesystem::path(path).lexically_normal()) {
    if (!path_.has_filename()) path_ = path_.parent_path();  // "a/b/"
    std::error_code error;
    const bool exists = std::filesystem::exists(std::filesystem::symlink_status(path_, error));
    error.clear();  // a missing folder counts as one
    if (exists && !std::filesystem::is_directory(path_, error)) fail("there is a file of this name");
    const bool empty = !exists || std::filesystem::is_empty(path_, error);
    if (error) fail(concat("cannot look into the folder: ", error.message()));
    if (!empty) fail("the folder is not empty, and nothing in it is overwritten");
    if (exists) path_ = std::filesystem::canonical(path_, error);  // a link to a folder stays one: the folder is replaced
    if (error) fail(concat("cannot follow the link: ", error.message()));
    temporary_ = path_;
    temporary_ += ".tmp";
    if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
    if (error) fail(concat("cannot make the folder around it: ", error.message()));
    if (!std::filesystem::create_directory(temporary_, error))
      fail(error ? error.message() : concat(in_quotes(temporary_.string()), " exists: another writer is at work, or left it behind"));
    owned_ = true;
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    if (owned_) std::filesystem::remove_all(temporary_, ignored);
  }

  /// The path of a file to write.
  std::string operator/(std::string_view name) const { return (temporary_ / name).string(); }

  void commit() {
    std::error_code error;
    std::filesystem::rename(temporary_, path_, error);
    if (error) fail(concat("cannot rename the folder: ", error.message()));
    owned_ = false;
    os::flush_folder(os::folder_of(path_.string()));
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const { throw FileError(concat(path_.string(), ": ", reason)); }

  std::filesystem::path path_, temporary_;
  bool owned_ = false;
};

}  // namespace llm::detail
