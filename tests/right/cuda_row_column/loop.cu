__global__ void cuda_row_column(const float* x, const float* scale, const float* bias, float* y, int N, int K) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N * K) {
    int row = 0, column = i;
    while (column >= K) {
      column -= K;
      row++;
    }
    y[i] = x[i] * scale[row] + bias[column];
  }
}
