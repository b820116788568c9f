// Memory of the host: where tensors of the CPU backends live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <llm/core/error.hpp>
#include <llm/detail/platform.hpp>

namespace llm {

/// The memory space of every backend that computes on the host. Satisfies memory_space of backend/concept.hpp.
struct HostMemory {
  /// A cache line, and the widest vector register.
  static constexpr std::size_t alignment = 64;
  /// Blocks from this size on lie in big pages where the system gives them.
  static constexpr std::size_t big_block = detail::big_page;

  /// `bytes` bytes of uninitialised memory, 64-byte aligned; never null, not even for 0 bytes. Throws llm::Error naming the bytes asked
  /// for.
  static void* allocate(std::size_t bytes) {
    const bool big = bytes >= big_block;
    void* memory = detail::aligned_allocate(big ? detail::big_page : alignment, bytes == 0 ? 1 : bytes);
    if (memory == nullptr) out_of_memory(bytes);
    if (big) detail::prefer_big_pages(memory, bytes);
    return memory;
  }

  /// Gives back what allocate returned, with the bytes it was asked for; null is allowed.
  static void release(void* memory, std::size_t /*bytes*/) noexcept { detail::aligned_release(memory); }

  static void copy_to_host(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }
  static void copy_from_host(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }

 private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);  // null pointers are undefined for memcpy, even with no bytes
  }
  [[noreturn]] static void out_of_memory(std::size_t bytes) {
    throw Error(detail::concat("llm::HostMemory::allocate: no memory for ", bytes, " bytes"));
  }
};

}  // namespace llm
