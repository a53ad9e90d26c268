// The one text that launches. The GPU runner appends it to a kernel's text; nothing includes it.
// KERNEL is the name of the __global__ function. Every function returns a cudaError_t.
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>

constexpr int MOST_PARAMETERS = 16;

template <typename... Parameters>
constexpr int parameter_count_of(void (*)(Parameters...)) {
  return sizeof...(Parameters);
}

// What is decided of a launch before its tensors are there, in pieces of 8 bytes.
struct Launch {
  int64_t device, grid_x, grid_y, threads, shared_bytes;
  int64_t cluster;       // blocks along x that reach each other's shared memory
  int64_t starts_early;  // before the kernel ahead of it has ended
  int64_t integer_count;
  int64_t integers[MOST_PARAMETERS];  // the first 4 bytes of each; they follow the pointers
};

using Launcher = int(const Launch*, const int64_t*);

// How much shared memory a block may have is said to the kernel, not to its launch: until that has
// come, no other thread may say it. Nor may two threads look up at once what makes a map.
static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER;

static cudaError_t launch_here(const Launch& launch, int64_t stream, const int64_t* pointers) {
  constexpr int parameters = parameter_count_of(&::KERNEL);
  static_assert(parameters <= MOST_PARAMETERS, "a kernel of too many parameters");
  void* arguments[MOST_PARAMETERS];
  const int first_integer = parameters - static_cast<int>(launch.integer_count);
  for (int i = 0; i < parameters; ++i) {
    const int64_t* from = i < first_integer ? &pointers[i] : &launch.integers[i - first_integer];
    arguments[i] = const_cast<int64_t*>(from);
  }
#ifdef MAPPED_PARAMETER  // the kernel takes a map in place of this tensor; map_parameter, in its text, makes it
  CUtensorMap map;
  const cudaError_t mapped = map_parameter(map, pointers[MAPPED_PARAMETER], launch.integers);
  if (mapped != cudaSuccess) return mapped;
  arguments[MAPPED_PARAMETER] = &map;
#endif
  const void* kernel = reinterpret_cast<const void*>(&::KERNEL);
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(launch.grid_x, launch.grid_y);
  config.blockDim = dim3(launch.threads);
  config.dynamicSmemBytes = launch.shared_bytes;
  config.stream = reinterpret_cast<cudaStream_t>(stream);
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

// Launches on launch.device, and leaves the current device as it is.
static int launch_there(const Launch& launch, int64_t stream, const int64_t* pointers) {
  int before;
  cudaError_t error = cudaGetDevice(&before);
  const bool is_other = before != launch.device;
  if (error == cudaSuccess && is_other) error = cudaSetDevice(launch.device);
  pthread_mutex_lock(&launching);
  if (error == cudaSuccess) error = launch_here(launch, stream, pointers);
  pthread_mutex_unlock(&launching);
  if (is_other) cudaSetDevice(before);
  if (error != cudaSuccess) cudaGetLastError();  // else the next call would trip over it
  return error;
}

// numbers: the stream, and where the tensors begin.
extern "C" int launch(const Launch* launch, const int64_t* numbers) {
  return launch_there(*launch, numbers[0], &numbers[1]);
}

// The same right behind a launch of another library, which has two tensors. numbers: the stream,
// those two, and the others of this launch, whose first is the second of those.
extern "C" int launch_behind(
    Launcher* launch_first, const Launch* first, const Launch* launch, const int64_t* numbers) {
  const int error = launch_first(first, numbers);
  return error != cudaSuccess ? error : launch_there(*launch, numbers[0], &numbers[2]);
}

extern "C" const char* error_text(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}
