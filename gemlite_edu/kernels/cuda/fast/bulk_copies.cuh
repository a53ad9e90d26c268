// Copies that the memory system makes by itself, and the barriers in shared memory that count their
// bytes. Hopper and later.
#pragma once
#include <stdint.h>

#include "early.cuh"

#ifdef __CUDACC__
__device__ inline uint32_t shared_address(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// A phase of a barrier ends when so many arrivals have come, with the bytes that they announced.
__device__ inline void barrier_init(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}
// Copies find what this thread has made of barriers; threads, once they have met it.
__device__ inline void barriers_made() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void barrier_arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}
__device__ inline void barrier_arrive_expecting(uint64_t* barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
// Waits for the end of phase 0, 1, 2...: of the phase under way or of the one before it.
__device__ inline void barrier_wait(uint64_t* barrier, int phase) {
  asm volatile(
      "{\n"
      ".reg .pred has_ended;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 has_ended, [%0], %1;\n"
      "@!has_ended bra again;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(phase & 1)
      : "memory");
}

// Copies that begin later, behind a barrier, come after what this thread has written: to shared
// memory, for copies that write there; to global memory, for those that read it.
__device__ inline void let_copies_follow() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void let_copies_read() {
  asm volatile("fence.proxy.async;" ::: "memory");
}
// Begins to copy from global memory; `barrier` counts the bytes that come. All in 16s of bytes.
__device__ inline void bulk_copy(void* shared, const void* global, int bytes, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      ::"r"(shared_address(shared)), "l"(global), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
// The same, of what is read once: L2 need not keep it.
__device__ inline void bulk_copy_once(void* shared, const void* global, int bytes,
                                      uint64_t* barrier) {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;"
      ::"r"(shared_address(shared)), "l"(global), "r"(bytes), "r"(shared_address(barrier)),
      "l"(policy)
      : "memory");
}
#else
#include <bulk_copies.h>
#endif
