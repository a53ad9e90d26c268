// Change how many registers each thread of four neighbouring warps has; all their threads call it.
// take_registers waits until other warps of the block have given enough. Hopper and later.
#pragma once

#ifdef __CUDACC__
template <int count>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
#else  // the simulator: a thread has as many as it needs
template <int count>
inline void take_registers() {}
template <int count>
inline void give_registers() {}
#endif
