// Memory between pages that cannot be touched: whoever reads or writes one byte beyond its operands is ended by the system, whatever
// instruction it is (sanitizers do not see inline assembly).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <new>
#include <vector>

#include <support/catch.hpp>

#if defined(__unix__) || defined(__APPLE__)
#define LLM_GUARDS_PAGES 1
#include <sys/mman.h>
#include <unistd.h>
#else
#define LLM_GUARDS_PAGES 0
#endif

namespace llm_test {

/// Which end of an operand touches a guarded page; `none` leaves room at both.
enum class Edge { none, begin, end };

#if LLM_GUARDS_PAGES

/// `bytes` bytes at an edge of their pages, which a guarded one precedes and follows.
class GuardedBytes {
 public:
  GuardedBytes(std::size_t bytes, Edge edge) {
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t room = edge == Edge::none ? 4096 : 0;
    inner_ = (bytes + 2 * room + page - 1) / page * page + (bytes + room == 0 ? page : 0);
    size_ = inner_ + 2 * page;
    void* all = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    all_ = static_cast<std::byte*>(all);
    if (::mprotect(all_ + page, inner_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = all_ + page + (edge == Edge::end ? inner_ - bytes : room);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { ::munmap(all_, size_); }

  std::byte* data() const { return data_; }
  /// From now on whoever writes there is ended, too.
  void forbid_writing() { ::mprotect(all_ + static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), inner_, PROT_READ); }

 private:
  std::byte *all_ = nullptr, *data_ = nullptr;
  std::size_t inner_ = 0, size_ = 0;
};

#else

class GuardedBytes {
 public:
  GuardedBytes(std::size_t bytes, Edge) : data_(bytes) {}
  std::byte* data() { return data_.data(); }
  void forbid_writing() {}

 private:
  std::vector<std::byte> data_;
};

#endif

/// The operands of one call of a kernel, each in pages of its own. The same calls make the same numbers.
class Operands {
 public:
  explicit Operands(Edge edge) : edge_(edge) {}

  /// What the kernel reads, and may not write.
  template <class T>
  const T* in(const std::vector<T>& values) {
    GuardedBytes& bytes = make(values);
    bytes.forbid_writing();
    return reinterpret_cast<const T*>(bytes.data());
  }
  /// What it writes, with what stands there before.
  template <class T>
  T* out(const std::vector<T>& values) {
    GuardedBytes& bytes = make(values);
    outputs_.push_back({bytes.data(), values.size() * sizeof(T)});
    return reinterpret_cast<T*>(bytes.data());
  }

  /// The bytes of all that was written.
  std::vector<unsigned char> results() const {
    std::vector<unsigned char> all;
    for (const Output& output : outputs_) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(output.data);
      all.insert(all.end(), bytes, bytes + output.size);
    }
    return all;
  }

 private:
  struct Output {
    const std::byte* data;
    std::size_t size;
  };

  template <class T>
  GuardedBytes& make(const std::vector<T>& values) {
    GuardedBytes& bytes = all_.emplace_back(values.size() * sizeof(T), edge_);
    if (!values.empty()) std::memcpy(static_cast<void*>(bytes.data()), values.data(), values.size() * sizeof(T));
    return bytes;
  }

  Edge edge_;
  std::deque<GuardedBytes> all_;
  std::vector<Output> outputs_;
};

/// Numbers of both signs below 1, which take no time to make.
template <class T>
std::vector<T> some_values(std::int64_t n, int seed) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = T(static_cast<float>((i * 37 + seed * 13) % 101 - 50) / 64);
  return values;
}

/// n numbers among the operands, to read.
template <class T>
const T* read(Operands& o, std::int64_t n, int seed) {
  return o.in(some_values<T>(n, seed));
}
/// The same to write or to add to.
template <class T>
T* write(Operands& o, std::int64_t n) {
  return o.out(some_values<T>(n, 9));
}

/// Calls kernel(operands) with operands at both edges of their pages: it stays within them, and does what it does in the midst of a page.
template <class Kernel>
void check_within_operands(const char* name, const Kernel& kernel) {
  INFO(name);
  std::vector<unsigned char> expected;
  for (const Edge edge : {Edge::none, Edge::begin, Edge::end}) {
    Operands operands(edge);
    kernel(operands);
    if (edge == Edge::none)
      expected = operands.results();
    else
      CHECK((operands.results() == expected));
  }
}

}  // namespace llm_test
