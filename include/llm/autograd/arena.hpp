// Memory of a tape: kept between tapes of a thread, so that recording a step like the last one allocates nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <llm/tensor/grad_slot.hpp>

namespace llm::detail {

/// One recorded op. Its own data lies in the arena; its type is known to the two functions only.
struct Record {
  void (*run)(void*) = nullptr;
  void (*destroy)(void*) = nullptr;
  void* op = nullptr;
  SlotRef output;
};

/// A bump allocator for the saved data of ops, and the list of records. Chunks are kept when it is emptied.
struct TapeArena {
  static constexpr std::size_t chunk_bytes = 64 * 1024;

  std::vector<std::unique_ptr<std::byte[]>> chunks;
  std::vector<Record> records;
  std::size_t chunk = 0, used = 0;

  void* allocate(std::size_t bytes, std::size_t alignment) {
    used = (used + alignment - 1) / alignment * alignment;
    if (used + bytes > chunk_bytes) {
      ++chunk;
      used = 0;
    }
    if (chunk == chunks.size()) chunks.push_back(std::make_unique<std::byte[]>(chunk_bytes));
    void* const place = chunks[chunk].get() + used;
    used += bytes;
    return place;
  }
  void clear() { chunk = used = 0; }
};

/// Arenas waiting for the next tape of this thread.
inline std::vector<std::unique_ptr<TapeArena>>& spare_arenas() {
  thread_local std::vector<std::unique_ptr<TapeArena>> arenas;
  return arenas;
}
inline std::unique_ptr<TapeArena> take_arena() {
  auto& spare = spare_arenas();
  if (spare.empty()) return std::make_unique<TapeArena>();
  auto arena = std::move(spare.back());
  spare.pop_back();
  return arena;
}
inline void give_arena(std::unique_ptr<TapeArena> arena) {
  arena->clear();
  spare_arenas().push_back(std::move(arena));
}

}  // namespace llm::detail
