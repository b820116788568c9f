// How much of the machine other programs use while something is timed.
#pragma once

#include <ctime>
#include <fstream>
#include <string>

#include "machine.hpp"

namespace bench {

/// Processor time of all programs on this machine (and of others on its host, where the system tells: "steal") and of this one.
struct Load {
  Clock::time_point time = Clock::now();
  double everyone = everyone_seconds();
  double own = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;

  /// Cores that others had in use since `before`, on average. 0 where the system does not tell.
  double others_since(const Load& before) const {
    const double seconds = std::chrono::duration<double>(time - before.time).count();
    return seconds <= 0 ? 0 : (std::max)(0.0, (everyone - before.everyone - (own - before.own)) / seconds);
  }

 private:
  /// user + nice + system + irq + softirq + steal of /proc/stat, which counts hundredths of a second. 0 without it.
  static double everyone_seconds() {
    std::ifstream stat("/proc/stat");
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(stat >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) return 0;
    return (user + nice + system + irq + softirq + steal) / 100;
  }
};

}  // namespace bench
