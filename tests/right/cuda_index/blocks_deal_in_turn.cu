__global__ void cuda_index(const float* x, float* y, int N) {
  const int i = threadIdx.x * gridDim.x + blockIdx.x;
  y[i] = 2.0f * x[i];
}
