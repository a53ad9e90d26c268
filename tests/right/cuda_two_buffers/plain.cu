__global__ void cuda_two_buffers(const float* x, float* y, int N, int K) {
  const float* row = x + blockIdx.x * K;
  float sum = 0.0f;
  __shared__ float piece[2][64];
  for (int turn = 0; turn < K / 64; ++turn) {
    piece[turn % 2][threadIdx.x] = row[64 * turn + threadIdx.x];
    __syncthreads();
    sum += piece[turn % 2][63 - threadIdx.x];
  }
  y[64 * blockIdx.x + threadIdx.x] = sum;
}
