__global__ void cuda_transpose(const float* x, float* y, int N) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int first = 32 * blockIdx.x;
  __shared__ float tile[32][35];
  for (int turn = 0; turn * warps < 32; ++turn) {
    const int row = turn * warps + warp;
    tile[lane][row] = x[row * N + first + lane];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
    y[first * 32 + i] = tile[i / 32][i % 32];
  }
}
