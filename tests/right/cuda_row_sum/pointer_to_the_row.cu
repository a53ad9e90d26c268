__global__ void cuda_row_sum(const float* x, float* y, int N, int K) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < N) {
    float sum = 0.0f;
    const float* own = x + row * K;
    for (int k = 0; k < K; k++) sum += own[k];
    y[row] = sum;
  }
}
