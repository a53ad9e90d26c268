// A barrier of the first `threads` threads of a block, while its other warps go on. No other barrier
// of a text has the number 1.
#pragma once

#ifdef __CUDACC__
template <int threads>
__device__ inline void meet() {
  asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
}
#else
#include <meeting.h>
#endif
