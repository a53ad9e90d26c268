// A cluster: blocks that run together and reach each other's shared memory. Hopper and later.
#pragma once
#ifdef __CUDACC__
// A barrier of all its threads in two halves: what was written before the first is there behind the
// second.
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
// A first half that orders nothing: behind the second, all blocks have begun.
__device__ inline void cluster_arrive_unordered() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Where another block has what this block has at `shared`.
template <typename T>
__device__ inline T* in_block(T* shared, int rank) {
  uint64_t address;
  asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(shared), "r"(rank));
  return reinterpret_cast<T*>(address);
}
#else
#include <cluster.h>
#endif
