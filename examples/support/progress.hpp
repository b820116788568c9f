// A stopwatch, and a progress bar with the time left, on a terminal only.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "terminal.hpp"

namespace examples {

/// How much was done in how long.
class Stopwatch {
 public:
  void count(std::int64_t amount) { counted_ += static_cast<double>(amount); }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double per_second() const { return counted_ / seconds(); }
  void restart() { *this = Stopwatch(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  double counted_ = 0;
};

/// Draws over the last line of the terminal; does nothing when the output goes elsewhere.
class ProgressBar {
 public:
  ProgressBar(std::int64_t first, std::int64_t last) : first_(first), last_(last) {}

  void show(std::int64_t done, double loss) {
    if (!terminal_ || (drawn_ && since_drawn_.seconds() < 0.1)) return;
    since_drawn_.restart();
    drawn_ = true;
    constexpr int width = 30;
    const auto filled = static_cast<int>(width * done / last_);
    const double per_step = since_start_.seconds() / static_cast<double>(done - first_);
    const auto left = static_cast<long long>(per_step * static_cast<double>(last_ - done));
    std::string bar(static_cast<std::size_t>(filled), '#');
    bar.resize(width, '.');
    std::printf("\r\033[K[%s] %lld/%lld  loss %.3f  %lld:%02lld left", bar.c_str(), static_cast<long long>(done),
                static_cast<long long>(last_), loss, left / 60, left % 60);
    std::fflush(stdout);
  }
  /// Makes room for a line of text.
  void clear() {
    if (drawn_) std::printf("\r\033[K");
    drawn_ = false;
  }

 private:
  std::int64_t first_, last_;
  bool terminal_ = is_terminal(stdout);
  bool drawn_ = false;
  Stopwatch since_start_, since_drawn_;
};

}  // namespace examples
