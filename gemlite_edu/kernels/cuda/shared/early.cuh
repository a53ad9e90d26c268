// What a kernel may do before the one ahead of it in the stream has ended, where its launch says so:
// on Hopper and later. Elsewhere kernels begin one after the other, and all of this does nothing.
#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// The next kernel of the stream may begin beside this one; wait for all that kernels before this one
// do.
__device__ inline void let_next_kernel_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ inline void wait_for_kernel_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
// Has L2 bring the 32 bytes around this one, which some kernel may still write: it does so in L2.
__device__ inline void bring_to_l2(const void* global) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}
#else
__device__ inline void let_next_kernel_begin() {}
__device__ inline void wait_for_kernel_before() {}
__device__ inline void bring_to_l2(const void*) {}
#endif
