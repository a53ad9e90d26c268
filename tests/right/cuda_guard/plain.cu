__global__ void cuda_guard(const float* x, const float* z, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = x[i] + z[i];
}
