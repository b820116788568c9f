// The GPU's global memory as a memory space of the library.
#pragma once

#include <cstddef>

#include <llm/backend/concept.hpp>
#include <llm/backend/cuda/launch.hpp>

namespace llm {

/// Device memory. Copies wait until they are done. Everything throws CudaError, save release.
struct CudaMemory {
  /// At least 64-byte aligned.
  static void* allocate(std::size_t bytes) {
    void* p = nullptr;
    if (const cudaError_t status = cudaMalloc(&p, bytes); status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // it is reported here, not by the next launch
      device::check(status, detail::concat("cudaMalloc of ", bytes, " bytes"));
    }
    return p;
  }
  static void release(void* p, std::size_t) noexcept { static_cast<void>(cudaFree(p)); }
  static void copy_to_host(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes, cudaMemcpyDeviceToHost, "to host"); }
  static void copy_from_host(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes, cudaMemcpyHostToDevice, "from host"); }

 private:
  static void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, const char* direction) {
    if (const cudaError_t status = cudaMemcpy(to, from, bytes, kind); status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      device::check(status, detail::concat("cudaMemcpy of ", bytes, " bytes ", direction));
    }
  }
};
static_assert(memory_space<CudaMemory>);

}  // namespace llm
