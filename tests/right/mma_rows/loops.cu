__global__ void mma_rows(const half* W, const half* x, float* y, int N, int K) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = thread & 31, first = thread / 32 * 16;
  float c[4] = {};
  for (int step = 0; step < K / 16; ++step) {
    uint32_t a[4], b[2];
    for (int i = 0; i < 4; ++i) {
      const int n = first + lane / 4 + i % 2 * 8, k = 16 * step + lane % 4 * 2 + i / 2 * 8;
      a[i] = pair_at(&W[n * K + k]);
      if (i % 2 == 0) b[i / 2] = pair_at(&x[lane / 4 * K + k]);
    }
    mma(c, a, b);
  }
  for (int i = 0; i < 4; ++i) y[(lane % 4 * 2 + i % 2) * N + first + lane / 4 + i / 2 * 8] = c[i];
}
