__global__ void cuda_row_sum(const float* x, float* y, int N, int K) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < N) {
    float sum = 0.0f;
    for (int k = K - 1; k >= 0; --k) sum += x[K * row + k];
    y[row] = sum;
  }
}
