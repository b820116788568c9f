// Memory of one thread that kernels use while they run and keep for the next call.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <llm/tensor/host_memory.hpp>

namespace llm::cpu {

/// What a piece of workspace is for. A kernel that calls another one must not share a slot with it.
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

  void* grow(std::size_t bytes) {
    if (bytes > bytes_) {
      HostMemory::release(memory_, bytes_);
      memory_ = nullptr;
      bytes_ = 0;
      const std::size_t larger = std::bit_ceil((std::max)(bytes, least_bytes));
      memory_ = HostMemory::allocate(larger);
      bytes_ = larger;
    }
    return memory_;
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The workspaces of one thread. Each begins with room for the small pieces of a decode step, so that a thread which gets its first
/// share of a kernel late, when a cache has grown, allocates nothing then.
struct Workspaces {
  Workspace slots[static_cast<int>(Slot::count)];
  Workspaces() {
    for (Workspace& slot : slots) slot.grow(1 << 15);
  }
};

inline void* workspace_bytes(Slot slot, std::size_t bytes) {
  static thread_local Workspaces workspaces;
  return workspaces.slots[static_cast<int>(slot)].grow(bytes);
}

/// `count` elements of uninitialised, 64-byte aligned memory of this thread. The content is lost at the next call with the same slot.
template <class T>
T* workspace(Slot slot, std::int64_t count) {
  return static_cast<T*>(workspace_bytes(slot, static_cast<std::size_t>(count) * sizeof(T)));
}

}  // namespace llm::cpu
