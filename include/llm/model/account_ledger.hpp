// The accountant's ledger: bytes taken and given back in the order in which a program does it, and the most that ever lived.
#pragma once

#include <cstdint>

#include <llm/model/account_parameters.hpp>

namespace llm::detail {

/// What lives while a step is replayed. Numbers are relative to its beginning: a part of a replay may give back what was taken before it.
class Ledger {
 public:
  constexpr void take(Count bytes) {
    move(now_, bytes.value, 1);
    if (now_ <= peak_) return;
    peak_ = now_;
    gradients_at_peak_ = gradients_;
  }
  constexpr void give(Count bytes) { move(now_, bytes.value, -1); }
  /// Takes the gradient of a parameter, which stays.
  constexpr void gradient(Count bytes) {
    move(gradients_, bytes.value, 1);
    take(bytes);
  }

  /// Appends what happens in `part`, `times` times in a row. In one row the peaks rise or fall with what a part leaves behind, so that the
  /// highest is that of the first or the last.
  constexpr void append(const Ledger& part, std::int64_t times) {
    if (times < 1) return;
    overflow_ = overflow_ || part.overflow_;
    reach(part);
    if (times == 1) return leave(part, 1);
    leave(part, times - 1);
    reach(part);
    leave(part, 1);
  }

  constexpr std::int64_t now() const { return now_; }
  constexpr std::int64_t gradients() const { return gradients_; }
  /// The most that lived at a time, of it gradients of parameters; 2^63 - 1 when 62 bits did not suffice.
  constexpr std::int64_t peak() const { return overflow_ ? INT64_MAX : peak_; }
  constexpr std::int64_t gradients_at_peak() const { return gradients_at_peak_; }

 private:
  static constexpr std::int64_t limit = INT64_MAX / 2;

  constexpr void move(std::int64_t& sum, std::int64_t bytes, std::int64_t sign) {
    overflow_ = overflow_ || bytes > limit || (sign > 0 ? sum > limit - bytes : sum < bytes - limit);
    if (!overflow_) sum += sign * bytes;
  }
  constexpr void reach(const Ledger& part) {
    if (overflow_ || now_ + part.peak_ <= peak_) return;
    peak_ = now_ + part.peak_;
    gradients_at_peak_ = gradients_ + part.gradients_at_peak_;
  }
  constexpr void leave(const Ledger& part, std::int64_t times) {
    const Count change = Count(part.now_ < 0 ? -part.now_ : part.now_) * times;
    move(now_, change.value, part.now_ < 0 ? -1 : 1);
    move(gradients_, (Count(part.gradients_) * times).value, 1);
  }

  std::int64_t now_ = 0, peak_ = 0, gradients_ = 0, gradients_at_peak_ = 0;
  bool overflow_ = false;
};

}  // namespace llm::detail
