// diagnosis: waits for ever at a shuffle, vote or __syncwarp that lane
__device__ float warp_reduce_sum(float value) {
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    if (threadIdx.x % WARP_SIZE < offset) __syncthreads();
    value += __shfl_down_sync(FULL_WARP, value, offset);
  }
  return value;
}
