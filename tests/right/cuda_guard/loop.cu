__global__ void cuda_guard(const float* x, const float* z, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = i; k < N; k += gridDim.x * blockDim.x) y[k] = z[k] + x[k];
}
