__device__ uint32_t both(half low, half high) {
  return __half_as_ushort(low) | uint32_t(__half_as_ushort(high)) << 16;
}
__global__ void mma_rows(const half* W, const half* x, float* y, int N, int K) {
  const int warps = blockDim.x / 32, warp = blockIdx.x * warps + threadIdx.x / 32;
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  float c[4] = {0, 0, 0, 0};
  for (int k = 0; k < K; k += 16) {
    uint32_t a[4], b[2];
    for (int right = 0; right < 2; ++right) {
      const int at = k + 8 * right + 2 * t;
      for (int down = 0; down < 2; ++down) {
        const half* row = W + (16 * warp + 8 * down + g) * K;
        a[2 * right + down] = both(row[at], row[at + 1]);
      }
      b[right] = both(x[g * K + at], x[g * K + at + 1]);
    }
    mma(c, a, b);
  }
  for (int m = 0; m < 2; ++m)
    for (int down = 0; down < 2; ++down) y[(2 * t + m) * N + 16 * warp + 8 * down + g] = c[2 * down + m];
}
