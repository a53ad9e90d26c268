__global__ void cuda_lanes(const float* x, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = x[i];
  const float other = __shfl_down_sync(0xffffffff, value, 16);
  const int lane = threadIdx.x % 32;
  if (lane == 0) y[i / 32] = value + other;
}
