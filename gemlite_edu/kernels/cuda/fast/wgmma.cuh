// What all of Hopper's products of four warps at once, wgmma, need: A in registers, B in shared memory.
#pragma once
#include "bulk_copies.cuh"
#include "tensor_core.cuh"

#ifdef __CUDACC__
// What registers hold now is for wgmma to read; what was committed last; wait for all but `left`.
__device__ inline void group_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void group_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int left>
__device__ inline void group_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}

// Where B lies: counted in 16 bytes of shared memory. The rank in a cluster is left out, and all lanes
// hold the same, so that the compiler may know it.
using GroupOperand = uint32_t;
__device__ inline GroupOperand group_operand(const uint4* shared) {
  return __shfl_sync(FULL_WARP, (shared_address(shared) & 0x3FFFF) / 16, 0);
}

#define ONES "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
#define TENS(d)                                                                      \
  "%" #d "0, %" #d "1, %" #d "2, %" #d "3, %" #d "4, %" #d "5, %" #d "6, %" #d "7, " \
  "%" #d "8, %" #d "9, "
#else  // the simulator: each warp by itself, with what B holds now
inline void group_fence() {}
inline void group_commit() {}
template <int left>
inline void group_wait() {}

using GroupOperand = const uint4*;
inline GroupOperand group_operand(const uint4* shared) { return shared; }
#endif
