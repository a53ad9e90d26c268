__global__ void cuda_lanes(const float* x, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = x[i];
  const float both = value + __shfl_xor_sync(0xffffffff, value, 16);
  if ((threadIdx.x & 31) == 0) y[i >> 5] = both;
}
