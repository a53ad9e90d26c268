__global__ void cuda_guard(const float* x, const float* z, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (N > i) {
    float sum = x[i];
    sum += z[i];
    y[i] = sum;
  }
}
