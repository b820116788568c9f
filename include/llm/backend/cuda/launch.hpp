// The one place that starts kernels and checks CUDA's errors: the same functions under nvcc and under the tests' emulator on the CPU.
#pragma once

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#elif !defined(LLM_CUDA_EMULATOR)
#error "llm: the headers in llm/backend/cuda are compiled by nvcc: include them in a .cu file only"
#endif

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <llm/core/error.hpp>

namespace llm {

/// A failed call of the CUDA runtime, or a kernel that could not be started.
class CudaError : public Error {
 public:
  using Error::Error;
};

namespace device {
namespace detail {

/// "8.0" for 80
inline std::string capability_text(int capability) { return llm::detail::concat(capability / 10, ".", capability % 10); }

/// The compute capabilities the program was built for, and the variable that changes them.
inline std::string architecture_hint() {
  int device = 0, major = 0, minor = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
  std::string text = "; the device has compute capability " + (known ? capability_text(10 * major + minor) : std::string("unknown")) +
                     ", the program was built for";
  std::string_view separator = " ";
  for (const int architecture : {__CUDA_ARCH_LIST__}) {  // 800 for 8.0
    text.append(separator).append(capability_text(architecture / 10));
    separator = ", ";
  }
  return text + " (hint: add the device's to CMAKE_CUDA_ARCHITECTURES)";
}

/// Whether the program holds no code that the device can run.
inline bool wrong_architecture(cudaError_t status) {
  return status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction || status == cudaErrorUnsupportedPtxVersion;
}

}  // namespace detail

/// Throws CudaError when `status` is an error: the call, the error's name and text, and for a wrong architecture what to set.
inline void check(cudaError_t status, std::string_view call) {
  if (status == cudaSuccess) return;
  throw CudaError(llm::detail::concat("llm::Cuda: ", call, ": ", cudaGetErrorName(status), " (", cudaGetErrorString(status), ")",
                                      detail::wrong_architecture(status) ? detail::architecture_hint() : std::string()));
}

/// The number of blocks of a launch, and the function that launches, for the error message.
struct Grid {
  dim3 blocks;
  const char* caller;
  Grid(dim3 blocks_, const char* caller_ = __builtin_FUNCTION()) : blocks(blocks_), caller(caller_) {}
  Grid(unsigned blocks_, const char* caller_ = __builtin_FUNCTION()) : blocks(blocks_), caller(caller_) {}
};

/// Starts kernel<<<grid, block, shared_bytes>>>(arguments...) on the default stream. Throws CudaError when it cannot start.
template <class... P>
void launch(void (*kernel)(P...), Grid grid, dim3 block, std::size_t shared_bytes, std::type_identity_t<P>... arguments) {
#if defined(__CUDACC__)
  kernel<<<grid.blocks, block, shared_bytes>>>(arguments...);
#else
  cuda_emulator::launch(kernel, grid.blocks, block, shared_bytes, arguments...);
#endif
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess)
    check(status, llm::detail::concat("launch of ", grid.caller, " with grid ", grid.blocks.x, " x ", grid.blocks.y, " x ", grid.blocks.z,
                                      ", block ", block.x, " x ", block.y, " x ", block.z, ", ", shared_bytes, " bytes of shared memory"));
}

/// In a kernel: the dynamic shared memory of the block, 16-byte aligned.
#if defined(__CUDACC__)
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char llm_dynamic_shared[];
  return reinterpret_cast<T*>(llm_dynamic_shared);
}
#else
using cuda_emulator::dynamic_shared;
#endif

}  // namespace device
}  // namespace llm
