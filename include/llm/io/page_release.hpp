// Lets the pages of a mapped file go while a header is read, so that a large one needs little memory.
#pragma once

#include <cstddef>

namespace llm::detail {

/// Tells the system that a stretch of a mapping has been read; null for plain memory.
using ReleasePages = void (*)(const std::byte*, std::size_t) noexcept;

/// Calls it once for every MiB, or another step, that is read.
class PageRelease {
 public:
  PageRelease(const std::byte* start, ReleasePages release, std::size_t step = std::size_t{1} << 20)
      : start_(start), release_(release), step_(step) {}

  /// Everything before `position` has been read.
  void passed(std::size_t position) noexcept {
    if (release_ == nullptr || position - released_ < step_) return;
    release_(start_, position);  // from the start: a touched page can bring back large stretches before it
    released_ = position;
  }
  /// Reading begins again.
  void restart() noexcept { released_ = 0; }

 private:
  const std::byte* start_;
  ReleasePages release_;
  std::size_t step_, released_ = 0;
};

}  // namespace llm::detail
