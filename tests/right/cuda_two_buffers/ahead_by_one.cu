__global__ void cuda_two_buffers(const float* x, float* y, int N, int K) {
  const float* row = x + blockIdx.x * K;
  float sum = 0.0f;
  __shared__ float even[64];
  __shared__ float odd[64];
  float *now = even, *next = odd;
  now[threadIdx.x] = row[threadIdx.x];
  for (int k = 64; k < K; k += 64) {
    __syncthreads();
    sum += now[63 - threadIdx.x];
    next[threadIdx.x] = row[k + threadIdx.x];
    float* other = now;
    now = next;
    next = other;
  }
  __syncthreads();
  sum += now[63 - threadIdx.x];
  y[64 * blockIdx.x + threadIdx.x] = sum;
}
