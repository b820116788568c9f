// A file's bytes, read-only, without copying them: the system loads the pages that are touched.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <llm/detail/os_file.hpp>

namespace llm {

/// A read-only view of a whole file. Replacing the file by a rename leaves the view intact; cutting it short while it is
/// mapped does not (the system then stops the program at the first missing page). Move-only.
class MappedFile {
 public:
  MappedFile() = default;

  /// Throws FileError, naming the file, when it is missing, unreadable or no regular file. An empty file gives no bytes.
  static MappedFile open(const std::string& path) {
    MappedFile file;
    file.mapping_ = detail::os::map_file(path);
    file.path_ = path;
    return file;
  }

  /// The same for a file that is read from its start to its end while other things take memory: few of its pages are there at a time, if
  /// those that have been read are let go (detail::PageRelease).
  static MappedFile open_to_read_once(const std::string& path) {
    MappedFile file = open(path);
    detail::os::map_in_small_parts(file.mapping_.data, file.mapping_.size);
    return file;
  }

  MappedFile(MappedFile&& other) noexcept : mapping_(std::exchange(other.mapping_, {})), path_(std::move(other.path_)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~MappedFile() { detail::os::unmap_file(mapping_); }

  std::span<const std::byte> bytes() const { return {mapping_.data, mapping_.size}; }
  const std::string& path() const { return path_; }

 private:
  detail::os::Mapping mapping_;
  std::string path_;
};

}  // namespace llm
