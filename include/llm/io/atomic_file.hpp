// Replaces a file in one step: after a crash, a kill or a full disk, the old content or the new one is there, whole.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>

namespace llm {

/// Writes to `<path>.tmp` in the same folder; commit() flushes it to the disk, renames it to `path` and flushes the folder.
/// What is not committed is removed, and the old file is untouched. Every error is a FileError with the step that failed
/// and the system's reason. A temporary file left by a killed process is overwritten by the next writer; two writers of
/// one path at the same time are an error for the second. A symbolic link at `path` is replaced, not followed. Move-only.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path)
      : path_(std::move(path)), temporary_path_(path_ + ".tmp"), fd_(detail::os::open_locked(temporary_path_)) {}

  AtomicFile(AtomicFile&& other) noexcept
      : path_(std::move(other.path_)), temporary_path_(std::move(other.temporary_path_)), fd_(std::exchange(other.fd_, -1)) {}
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile() { discard(); }

  const std::string& path() const { return path_; }
  const std::string& temporary_path() const { return temporary_path_; }

  /// Appends. Throws FileError and discards the temporary file when the system takes less, as on a full disk.
  void write(std::span<const std::byte> bytes) {
    require_open("write");
    while (!bytes.empty()) {
      constexpr std::size_t at_once = std::size_t{1} << 30;  // systems refuse or cut requests of 2 GiB
      const std::ptrdiff_t written = detail::os::write_some(fd_, bytes.data(), (std::min)(bytes.size(), at_once));
      if (written <= 0) fail("write the temporary file", written == 0 ? ENOSPC : errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

  /// Makes the new content the file's. Throws FileError when a step fails; before the rename, the old file stays. If only
  /// flushing the folder fails, the new file is in place but a power failure may still bring back the old one.
  void commit() {
    require_open("commit");
    if (!detail::os::flush(fd_)) fail("flush the temporary file", errno);
    detail::os::publish(std::exchange(fd_, -1), temporary_path_, path_);
    detail::os::flush_folder(detail::os::folder_of(path_));
  }

 private:
  void require_open(std::string_view what) const {
    if (fd_ < 0) throw FileError(detail::concat(path_, ": cannot ", what, ": already committed or failed"));
  }
  [[noreturn]] void fail(const char* step, int code) {
    discard();
    detail::os::fail(temporary_path_, step, code);
  }
  void discard() noexcept {
    if (fd_ >= 0) detail::os::discard(std::exchange(fd_, -1), temporary_path_);
  }

  std::string path_;
  std::string temporary_path_;
  int fd_ = -1;
};

}  // namespace llm
