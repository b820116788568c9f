// The most memory that this process held.
#pragma once

#include <fstream>
#include <string>

namespace bench {

/// Bytes that a line of /proc/self/status tells, such as "VmRSS:" or "VmHWM:" (the highest VmRSS); 0 where the system has none.
inline double status_bytes(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kilobytes = 0; word == line && status >> kilobytes) return kilobytes * 1024;
  return 0;
}

/// Starts "VmHWM:" again at what is resident now.
inline void reset_resident_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace bench
