__global__ void cuda_row_sum(const float* x, float* y, int N, int K) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < N) {
    float sum = 0.0f;
    int k = 0;
    while (k < K) {
      sum += x[row * K + k];
      k += 1;
    }
    y[row] = sum;
  }
}
