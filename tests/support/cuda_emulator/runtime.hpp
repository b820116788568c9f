// The few calls of the CUDA runtime that the library makes, on host memory: device memory, copies, errors. Errors can be provoked.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorUnsupportedPtxVersion = 222,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaDeviceAttr { cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76 };

/// As nvcc defines it for the architectures it compiles for.
#define __CUDA_ARCH_LIST__ 800, 900

namespace cuda_emulator {
inline cudaError_t last_error = cudaSuccess;
/// What the next call returns, once.
inline cudaError_t provoked_error = cudaSuccess;
inline cudaError_t outcome() {
  const cudaError_t error = std::exchange(provoked_error, cudaSuccess);
  if (error != cudaSuccess) last_error = error;
  return error;
}
}  // namespace cuda_emulator

inline cudaError_t cudaGetLastError() {
  cuda_emulator::outcome();
  return std::exchange(cuda_emulator::last_error, cudaSuccess);
}
inline const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDeviceFunction:
      return "cudaErrorInvalidDeviceFunction";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorNoKernelImageForDevice:
      return "cudaErrorNoKernelImageForDevice";
    case cudaErrorUnsupportedPtxVersion:
      return "cudaErrorUnsupportedPtxVersion";
  }
  return "?";
}
inline const char* cudaGetErrorString(cudaError_t) { return "emulated"; }

/// Fresh memory holds NaN.
inline cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  if (const cudaError_t error = cuda_emulator::outcome()) return error;
  *p = ::operator new (bytes, std::align_val_t{64}, std::nothrow);
  if (*p == nullptr) return cuda_emulator::last_error = cudaErrorMemoryAllocation;
  std::memset(*p, 0xff, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* p) {
  ::operator delete (p, std::align_val_t{64});
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (const cudaError_t error = cuda_emulator::outcome()) return error;
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
/// A device of compute capability 7.5.
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 7 : 5;
  return cudaSuccess;
}
