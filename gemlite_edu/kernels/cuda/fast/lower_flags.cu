// Lowers the `count` flags by which blocks of gemm_fast.cuh wait for one another. One warp: it finds room
// beside a kernel that fills the machine.
#include "early.cuh"

__global__ void __launch_bounds__(32) lower(const void*, int* flags, int count) {
  let_next_kernel_begin();
  wait_for_kernel_before();
  for (int i = threadIdx.x; i < count; i += 32) flags[i] = 0;
}
