// Copies from global to shared memory that go on while the thread does. As __pipeline_memcpy_async
// they belong to the batch that __pipeline_commit ends and __pipeline_wait_prior waits for; before
// sm_80 they are plain copies.
#pragma once
#include <cuda_pipeline.h>

// Begin to copy 16 bytes, or zeros where nothing is there.
__device__ inline void copy_16_async(void* shared, const void* global, bool is_there) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // Through L1. __pipeline_memcpy_async leads 16 bytes around it, which an H200 is slow at where
  // they are pieces of many rows.
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global),
               "r"(is_there ? 16 : 0)
               : "memory");
#else
  __pipeline_memcpy_async(shared, global, 16, is_there ? 0 : 16);
#endif
}
