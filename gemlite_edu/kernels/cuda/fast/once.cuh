// Values that nvcc would otherwise make anew wherever a loop uses them, from threadIdx.x or from where
// shared memory begins: after this it does not know how they came about.
#pragma once
#include "bulk_copies.cuh"

#ifdef __CUDACC__
__device__ inline int made_once(int value) {
  asm volatile("" : "+r"(value));
  return value;
}
// The same object, which is in shared memory.
template <typename T>
__device__ inline T& addressed_once(T& shared) {
  uint32_t address = shared_address(&shared);
  asm volatile("" : "+r"(address));
  return *static_cast<T*>(__cvta_shared_to_generic(address));
}
#else
inline int made_once(int value) { return value; }
template <typename T>
inline T& addressed_once(T& shared) {
  return shared;
}
#endif
