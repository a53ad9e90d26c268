__global__ void cuda_transpose(const float* x, float* y, int N) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int first = 32 * blockIdx.x;
  __shared__ float tile[32 * 32];
  for (int row = warp; row < 32; row += warps) {
    tile[32 * row + (lane ^ row)] = x[row * N + first + lane];
  }
  __syncthreads();
  for (int row = warp; row < 32; row += warps) {
    y[32 * (first + row) + lane] = tile[32 * lane + (lane ^ row)];
  }
}
