// diagnosis: outside values, which has 0 elements
__device__ float warp_reduce_sum(float value) {
  extern __shared__ float values[];
  values[threadIdx.x] = value;
  __syncwarp();
  float sum = 0.0f;
  for (int i = 0; i < 32; ++i) sum += values[threadIdx.x / 32 * 32 + i];
  return sum;
}
