// diagnosis: nothing is reduced: lane 0 writes its own partial sum
__device__ float warp_reduce_sum(float value) {
  int lane = threadIdx.x % WARP_SIZE;
  float sum = 0.0f;
  if (lane == 0) sum += value;
  return sum;
}
