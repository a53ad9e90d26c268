// Replaces the PTX of kernels/cuda/fast/bulk_copies.cuh by calls of the runner: a copy is delivered
// as soon as it is requested, and kernels run one after the other.
#pragma once
#include "cuda_runtime.h"

inline void barrier_init(uint64_t* barrier, int arrivals) { sim_make_barrier(barrier, arrivals); }
inline void barriers_made() {}
inline void barrier_arrive(uint64_t* barrier) { sim_arrive(barrier, 0); }
inline void barrier_arrive_expecting(uint64_t* barrier, int bytes) { sim_arrive(barrier, bytes); }
inline void barrier_wait(uint64_t* barrier, int phase) { sim_wait_for_phase(barrier, phase); }
inline void let_copies_follow() {}
inline void let_copies_read() {}
inline void bulk_copy(void* shared, const void* global, int bytes, uint64_t* barrier) {
  sim_bulk_copy(shared, global, bytes, barrier);
}
inline void bulk_copy_once(void* shared, const void* global, int bytes, uint64_t* barrier) {
  sim_bulk_copy(shared, global, bytes, barrier);
}
