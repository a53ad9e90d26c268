__global__ void cuda_row_column(const float* x, const float* scale, const float* bias, float* y, int N, int K) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N * K) {
    const int row = i / K;
    const int column = i - row * K;
    y[i] = x[i] * scale[row] + bias[column];
  }
}
