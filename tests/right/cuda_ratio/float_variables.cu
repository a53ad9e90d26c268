__global__ void cuda_ratio(const int* total, const int* count, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    float numerator = total[i];
    float denominator = count[i];
    y[i] = numerator / denominator;
  }
}
