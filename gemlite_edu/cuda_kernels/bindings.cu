// The one text that launches. The GPU runner appends it to a kernel's text; nothing includes it.
// KERNEL is the name of the __global__ function. Every function returns a cudaError_t.
#include <cuda_runtime.h>

// A failed call leaves its error for the next one to trip over: take it away.
static int cleared(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

extern "C" int launch(void** arguments, unsigned grid_x, unsigned grid_y, unsigned threads,
                      size_t shared_bytes, void* stream) {
  const void* kernel = reinterpret_cast<const void*>(&::KERNEL);
  cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  if (error != cudaSuccess) return cleared(error);
  return cleared(cudaLaunchKernel(kernel, dim3(grid_x, grid_y), dim3(threads), arguments,
                                  shared_bytes, static_cast<cudaStream_t>(stream)));
}

extern "C" const char* error_text(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}
