// Device memory that kernels work in for a while.
#pragma once

#include <cstddef>
#include <cstdint>

#include <llm/backend/cuda/memory.hpp>
#include <llm/tensor/storage.hpp>

namespace llm::device {

/// Room for n elements in device memory, of the library's pool, while this lives. Throws CudaError when there is none.
template <class T>
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::int64_t n) {
    if (n > 0) memory_ = llm::detail::Pool<CudaMemory>::instance().allocate(static_cast<std::size_t>(n) * sizeof(T));
  }

  /// Null when there is room for nothing.
  T* data() const { return memory_ ? static_cast<T*>(memory_->data) : nullptr; }

 private:
  llm::detail::BufferRef memory_;
};

}  // namespace llm::device
