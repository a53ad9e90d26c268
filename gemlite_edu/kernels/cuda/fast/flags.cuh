// Flags in global memory, by which blocks of a launch wait for one another. A block may only wait for
// blocks before it in the grid. GPUs begin blocks in the order of the grid: so those have begun, even
// where there is no room for all at once.
#pragma once

// What the block has written, and a barrier has ordered before this thread, can be read where the flag
// was seen up.
__device__ inline void raise_flag(int* flag) {
  __threadfence();
  atomicExch(flag, 1);
}

__device__ inline void wait_for_flag(int* flag) {
  while (atomicAdd(flag, 0) == 0) {
  }
  __threadfence();
}
