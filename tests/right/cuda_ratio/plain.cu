__global__ void cuda_ratio(const int* total, const int* count, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    y[i] = static_cast<float>(total[i]) / count[i];
  }
}
