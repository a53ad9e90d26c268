__global__ void mma_rows(const half* W, const half* x, float* y, int N, int K) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int k = 4 * t; k < K; k += 16) {  // four neighbours each: W and x agree about the order
    const half* row = W + (16 * warp + g) * K + k;
    const uint32_t a[4] = {pair_at(row), pair_at(row + 8 * K), pair_at(row + 2), pair_at(row + 8 * K + 2)};
    const uint32_t b[2] = {pair_at(x + g * K + k), pair_at(x + g * K + k + 2)};
    mma(c, a, b);
  }
  for (int i = 0; i < 4; ++i) y[(2 * t + i % 2) * N + 16 * warp + g + 8 * (i / 2)] = c[i];
}
