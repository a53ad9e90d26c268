// The one text that launches. The GPU runner appends it to a kernel's text; nothing includes it.
// KERNEL is the name of the __global__ function. Every function returns a cudaError_t.
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>

constexpr int MOST_PARAMETERS = 16;

// All that Python says, in pieces of 8 bytes: it comes to C in one argument.
struct Launch {
  int64_t device, grid_x, grid_y, threads, shared_bytes;
  int64_t cluster;       // blocks along x that reach each other's shared memory
  int64_t starts_early;  // before the kernel ahead of it has ended
  int64_t stream, count;
  int64_t values[MOST_PARAMETERS];  // `count` of them; an int has the first 4 bytes of its value
};

// How much shared memory a block may have is said to the kernel, not to its launch: until that has
// come, no other thread may say it.
static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER;

static cudaError_t launch_here(const Launch& launch) {
  void* arguments[MOST_PARAMETERS];
  if (launch.count > MOST_PARAMETERS) return cudaErrorInvalidValue;
  for (int i = 0; i < launch.count; ++i) arguments[i] = const_cast<int64_t*>(&launch.values[i]);
  const void* kernel = reinterpret_cast<const void*>(&::KERNEL);
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(launch.grid_x, launch.grid_y);
  config.blockDim = dim3(launch.threads);
  config.dynamicSmemBytes = launch.shared_bytes;
  config.stream = reinterpret_cast<cudaStream_t>(launch.stream);
  config.attrs = attributes;
  if (launch.cluster > 1) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = launch.cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  }
  if (launch.starts_early) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

// Launches on launch->device, and leaves the current device as it is.
extern "C" int launch(const Launch* launch) {
  int before;
  cudaError_t error = cudaGetDevice(&before);
  const bool is_other = before != launch->device;
  if (error == cudaSuccess && is_other) error = cudaSetDevice(launch->device);
  pthread_mutex_lock(&launching);
  if (error == cudaSuccess) error = launch_here(*launch);
  pthread_mutex_unlock(&launching);
  if (is_other) cudaSetDevice(before);
  if (error != cudaSuccess) cudaGetLastError();  // else the next call would trip over it
  return error;
}

extern "C" const char* error_text(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}
