__global__ void cuda_reverse(const float* x, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float tile[64];
  tile[threadIdx.x] = x[i];
  __syncthreads();
  const int from = blockDim.x - 1 - threadIdx.x;
  y[i] = tile[from];
}
