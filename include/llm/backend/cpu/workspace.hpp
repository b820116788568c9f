// Memory of one thread that kernels use while they run and keep for the next call.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <llm/backend/cpu/read_ahead.hpp>
#include <llm/detail/platform.hpp>
#include <llm/tensor/host_memory.hpp>

namespace llm::cpu {

/// What a piece of workspace is for. A kernel that calls another one must not share a slot with it.
/// Slot::shared alone lasts beyond a loop of several threads: the end of one may move the others, see level_workspaces.
enum class Slot : int { shared, rows, packed_left, packed_right, tile, scores, attention, count };

/// A block that grows to the largest size asked for and stays, so that a repeated call allocates nothing. It starts large and grows in
/// octaves, so that decode steps, whose needs grow slowly with the context, do not allocate either.
class Workspace {
 public:
  static constexpr std::size_t least_bytes = 256 * 1024;

  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { HostMemory::release(memory_, bytes_); }

  void* data() const { return memory_; }
  std::size_t bytes() const { return bytes_; }

  void grow(std::size_t bytes) {
    HostMemory::release(memory_, bytes_);
    memory_ = nullptr;
    bytes_ = 0;
    const std::size_t larger = std::bit_ceil((std::max)(bytes, least_bytes));
    memory_ = HostMemory::allocate(larger);
    bytes_ = larger;
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The workspaces of one thread. Each begins with room for the small pieces of a decode step.
class Workspaces {
 public:
  static constexpr int slots = static_cast<int>(Slot::count);

  Workspaces() {
    for (Workspace& slot : slots_) slot.grow(0);
  }

  void* get(Slot slot, std::size_t bytes) {
    Workspace& space = slots_[static_cast<int>(slot)];
    if (bytes > space.bytes()) {
      space.grow(bytes);
      // What a thread shares with its helpers is its own business; what else a loop needed, another thread may need next time.
      if (grown_ != nullptr && slot != Slot::shared) grown_->store(true, std::memory_order_relaxed);
    }
    return space.data();
  }

  /// The flag to set when a workspace grows; null for none.
  void tell(std::atomic<bool>* grown) { grown_ = grown; }

  std::size_t bytes(Slot slot) const { return slots_[static_cast<int>(slot)].bytes(); }

 private:
  Workspace slots_[slots];
  std::atomic<bool>* grown_ = nullptr;
};

/// What belongs to the calling thread. One object across shared libraries (LLM_SHARED).
struct LLM_SHARED ThisThread {
  /// The workspaces in use: those that a helper of a team was given, or the thread's own. Null before the first.
  static Workspaces*& given_workspaces() {
    static thread_local Workspaces* given = nullptr;
    return given;
  }
  static Workspaces& workspaces() {
    Workspaces*& given = given_workspaces();
    if (given == nullptr) {
      if (!std::exchange(owned(), true)) own();
      given = new Workspaces;
    }
    return *given;
  }
  /// Whether the thread runs a part of a loop, so that a loop inside it stays on this thread.
  static bool& in_loop() {
    static thread_local bool in = false;
    return in;
  }
  /// What a helper of a team knows of its reads; null in other threads.
  static ReadAhead*& read_ahead() {
    static thread_local ReadAhead* reads = nullptr;
    return reads;
  }

 private:
  /// Frees the workspaces at the end of the thread. Objects that are destroyed later may still call kernels: the thread then gets others,
  /// which nobody frees, and the owner's definition is not passed again.
  struct Owner {
    ~Owner() { delete std::exchange(given_workspaces(), nullptr); }
  };
  static void own() {
    static thread_local Owner owner;
    static_cast<void>(owner);
  }
  static bool& owned() {
    static thread_local bool owned = false;
    return owned;
  }
};

/// `count` elements of uninitialised, 64-byte aligned memory of this thread. The content is lost at the next call with the same slot.
template <class T>
T* workspace(Slot slot, std::int64_t count) {
  return static_cast<T*>(ThisThread::workspaces().get(slot, static_cast<std::size_t>(count) * sizeof(T)));
}

/// A piece of a loop reads weights from `first` on, and the loop none beyond `end`; see ReadAhead.
inline void reads_weights(const void* first, const void* end) {
  if (ReadAhead* const reads = ThisThread::read_ahead()) reads->reads(first, end);
}

}  // namespace llm::cpu
