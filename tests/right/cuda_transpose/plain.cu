__global__ void cuda_transpose(const float* x, float* y, int N) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int first = 32 * blockIdx.x;
  __shared__ float tile[32][33];
  for (int row = warp; row < 32; row += warps) {
    tile[row][lane] = x[row * N + first + lane];
  }
  __syncthreads();
  for (int column = warp; column < 32; column += warps) {
    y[(first + column) * 32 + lane] = tile[lane][column];
  }
}
