// diagnosis: partial[0], which thread 0 also writes
__device__ float warp_reduce_sum(float value) {
  __shared__ float partial[WARP_SIZE];
  const int lane = threadIdx.x % WARP_SIZE;
  partial[lane] = value;
  __syncwarp();
  float sum = 0.0f;
  for (int i = 0; i < WARP_SIZE; ++i) sum += partial[i];
  return sum;
}
