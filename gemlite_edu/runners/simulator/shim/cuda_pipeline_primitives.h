// Asynchronous copies from global to shared memory. CUDA C++ Programming Guide, "Pipeline
// Primitives Interface". The runner keeps what is on its way (runner/copies.h).
#pragma once
#include <stddef.h>

extern "C" {
void sim_copy_async(void* to, const void* from, size_t bytes, size_t zero_filled);
void sim_close_batch();
void sim_wait_for_copies(size_t batches_left);
}

// Copies 4, 8 or 16 bytes, of which the last `zfill` are not read but become 0.
inline void __pipeline_memcpy_async(void* __restrict to_shared, const void* __restrict from_global,
                                    size_t bytes, size_t zfill = 0) {
  sim_copy_async(to_shared, from_global, bytes, zfill);
}
inline void __pipeline_commit() { sim_close_batch(); }
inline void __pipeline_wait_prior(size_t batches_left) { sim_wait_for_copies(batches_left); }
