// diagnosis: reached a null pointer
__device__ float warp_reduce_sum(float value) {
  float* volatile partial = nullptr;  // one float per lane
  partial[threadIdx.x % WARP_SIZE] = value;
  __syncwarp();
  float sum = 0.0f;
  for (int lane = 0; lane < WARP_SIZE; ++lane) sum += partial[lane];
  return sum;
}
