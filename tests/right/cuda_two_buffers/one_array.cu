__global__ void cuda_two_buffers(const float* x, float* y, int N, int K) {
  const float* row = x + blockIdx.x * K;
  float sum = 0.0f;
  __shared__ float piece[128];
  for (int k = 0; k < K; k += 64) {
    const int at = k & 64;
    piece[at + 63 - threadIdx.x] = row[k + threadIdx.x];
    __syncthreads();
    sum += piece[at + threadIdx.x];
  }
  y[64 * blockIdx.x + threadIdx.x] = sum;
}
