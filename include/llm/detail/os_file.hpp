// The operating system's file calls that the C++ library lacks: mapping, flushing to the disk, locking, atomic replacement.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#if defined(_WIN32)
#include <io.h>
#include <share.h>
#include <cstdio>
#include <filesystem>
#else
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <llm/core/error.hpp>

namespace llm::detail::os {

/// Throws FileError "<path>: cannot <step>: <the system's reason>"; `code` is errno, read before anything else can change it.
[[noreturn]] inline void fail(const std::string& path, const char* step, int code) {
  throw FileError(concat(path, ": cannot ", step, ": ", std::generic_category().message(code)));
}

/// A file's bytes in memory: mapped, or where the platform has no mmap, read. `data` is null for an empty file.
struct Mapping {
  const std::byte* data = nullptr;
  std::size_t size = 0;
};

/// The folder that holds a file: "a/b" -> "a", "b" -> ".".
inline std::string folder_of(const std::string& path) {
#if defined(_WIN32)
  const std::size_t slash = path.find_last_of("/\\");
#else
  const std::size_t slash = path.rfind('/');
#endif
  if (slash == std::string::npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

#if defined(_WIN32)

// Written for the Microsoft C library; not tested.
inline Mapping map_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) fail(path, "open", errno);
  Mapping mapping;
  _fseeki64(file, 0, SEEK_END);
  mapping.size = static_cast<std::size_t>(_ftelli64(file));
  _fseeki64(file, 0, SEEK_SET);
  auto* buffer = mapping.size == 0 ? nullptr : new (std::nothrow) std::byte[mapping.size];
  const bool complete = mapping.size == 0 || (buffer != nullptr && std::fread(buffer, 1, mapping.size, file) == mapping.size);
  std::fclose(file);
  if (!complete) {
    delete[] buffer;
    fail(path, "read", EIO);
  }
  mapping.data = buffer;
  return mapping;
}
inline void unmap_file(const Mapping& mapping) noexcept { delete[] mapping.data; }
inline void release_pages(const std::byte*, std::size_t) noexcept {}
inline void map_in_small_parts(const std::byte*, std::size_t) noexcept {}
inline void fetch_pages(const std::byte*, std::size_t) noexcept {}

inline int open_locked(const std::string& path) {
  int fd = -1;
  if (const int code = _sopen_s(&fd, path.c_str(), _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY, _SH_DENYRW, _S_IREAD | _S_IWRITE);
      code != 0)
    fail(path, "create the temporary file", code);
  return fd;
}
inline std::ptrdiff_t write_some(int fd, const std::byte* data, std::size_t size) noexcept {
  return _write(fd, data, static_cast<unsigned>(size));
}
inline bool flush(int fd) noexcept { return _commit(fd) == 0; }
inline void discard(int fd, const std::string& path) noexcept {
  _close(fd);
  std::remove(path.c_str());
}
inline void publish(int fd, const std::string& from, const std::string& to) {
  _close(fd);  // an open file cannot be renamed here
  std::error_code code;
  std::filesystem::rename(from, to, code);
  if (!code) return;
  std::remove(from.c_str());
  throw FileError(concat(to, ": cannot rename the temporary file: ", code.message()));
}
inline void flush_folder(const std::string&) {}

#else

/// Maps a regular file read-only.
inline Mapping map_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // O_NONBLOCK: a pipe must be an error, not a wait
  if (fd < 0) fail(path, "open", errno);
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    const int code = errno;
    ::close(fd);
    fail(path, "read the size", code);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    throw FileError(concat(path, ": cannot open: not a regular file"));
  }
  Mapping mapping;
  mapping.size = static_cast<std::size_t>(status.st_size);
  int code = 0;
  if (mapping.size > 0) {
    void* address = ::mmap(nullptr, mapping.size, PROT_READ, MAP_PRIVATE, fd, 0);
    code = errno;
    if (address != MAP_FAILED) mapping.data = static_cast<const std::byte*>(address);
  }
  ::close(fd);
  if (mapping.size > 0 && mapping.data == nullptr) fail(path, "map into memory", code);
  return mapping;
}
inline void unmap_file(const Mapping& mapping) noexcept {
  if (mapping.data != nullptr) ::munmap(const_cast<std::byte*>(mapping.data), mapping.size);
}

/// Lets the system take back the whole pages of a mapped stretch; they are read again when touched.
inline void release_pages(const std::byte* data, std::size_t size) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto last = (reinterpret_cast<std::uintptr_t>(data) + size) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

/// Asks the system to read a mapped stretch, which it does while the program does something else. In parts: of one request Linux reads no
/// more than it reads ahead by itself (VM_READAHEAD_PAGES) where the disk takes no larger ones.
inline void fetch_pages(const std::byte* data, std::size_t size) noexcept {
  constexpr std::uintptr_t part = std::uintptr_t{1} << 17;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(data) + size;
  for (std::uintptr_t at = reinterpret_cast<std::uintptr_t>(data) / page * page; at < last; at += part)
    ::madvise(reinterpret_cast<void*>(at), (std::min)(part, last - at), MADV_WILLNEED);
}

/// Lets a mapped stretch come into memory in small parts. Linux maps whole runs of pages, of up to some MiB, when one of them is touched,
/// but none that goes beyond an area of equal settings: every second part gets another one, which matters to core dumps alone.
inline void map_in_small_parts(const std::byte* data, std::size_t size) noexcept {
#if defined(MADV_DONTDUMP)
  constexpr std::size_t smallest = std::size_t{1} << 18, most_parts = 2048;  // systems limit how many areas there are
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t part = ((std::max)(smallest, size / most_parts) + page - 1) / page * page;
  const auto first = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto last = (reinterpret_cast<std::uintptr_t>(data) + size) / page * page;
  for (std::uintptr_t at = first; at + part <= last; at += 2 * part) ::madvise(reinterpret_cast<void*>(at), part, MADV_DONTDUMP);
#else
  static_cast<void>(data), static_cast<void>(size);
#endif
}

/// Whether the open file is still the one that `path` names.
inline bool same_file(int fd, const std::string& path) noexcept {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Creates or takes over `path` for writing, empties it and holds a lock on it; a second writer gets FileError.
/// A file left behind by a killed process is reused: its lock went with the process.
inline int open_locked(const std::string& path) {
  for (;;) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) fail(path, "create the temporary file", errno);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {  // other failures: a file system without locks
      ::close(fd);
      throw FileError(concat(path, ": cannot create the temporary file: another writer is at work on it"));
    }
    if (!same_file(fd, path)) {  // its writer renamed or removed it between our open and our lock
      ::close(fd);
      continue;
    }
    if (::ftruncate(fd, 0) != 0) {
      const int code = errno;
      ::close(fd);
      fail(path, "empty the temporary file", code);
    }
    return fd;
  }
}

inline std::ptrdiff_t write_some(int fd, const std::byte* data, std::size_t size) noexcept {
  for (;;) {
    const ::ssize_t written = ::write(fd, data, size);
    if (written >= 0 || errno != EINTR) return written;
  }
}
inline bool flush(int fd) noexcept { return ::fsync(fd) == 0; }

/// Removes a file that open_locked() gave, and closes it.
inline void discard(int fd, const std::string& path) noexcept {
  ::unlink(path.c_str());  // before closing, which ends the lock: the name must not be another writer's by then
  ::close(fd);
}

/// Renames the flushed file `from` to `to` and closes it; whoever opens `to` sees the old file or the new one.
/// When that fails, `from` is removed and `to` is untouched.
inline void publish(int fd, const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const int code = errno;
    discard(fd, from);
    fail(to, "rename the temporary file", code);
  }
  ::close(fd);
}

/// Makes a rename in this folder survive a power failure.
inline void flush_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(folder, "open the folder to flush it", errno);
  const bool flushed = ::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;  // some file systems flush no folders
  const int code = errno;
  ::close(fd);
  if (!flushed) fail(folder, "flush the folder", code);
}

#endif

}  // namespace llm::detail::os
