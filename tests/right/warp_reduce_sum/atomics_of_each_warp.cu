__device__ float totals[1024][8][32];

__device__ float warp_reduce_sum(float value) {
  float* total = &totals[blockIdx.x % 1024][blockIdx.y % 8][threadIdx.x / WARP_SIZE];
  if (threadIdx.x % WARP_SIZE == 0) atomicExch(total, 0.0f);
  __syncwarp();
  atomicAdd(total, value);
  __syncwarp();
  const float sum = atomicAdd(total, 0.0f);
  __syncwarp();
  return sum;
}
