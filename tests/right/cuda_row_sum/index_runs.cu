__global__ void cuda_row_sum(const float* x, float* y, int N, int K) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < N) {
    float sum = 0.0f;
    for (int i = row * K; i < (row + 1) * K; i++) {
      sum = sum + x[i];
    }
    y[row] = sum;
  }
}
