__global__ void mma_rows(const half* W, const half* x, float* y, int N, int K) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const half* rows = W + 16 * warp * K;
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int k = 0; k < K; k += 16) {
    uint32_t a[4], b[2];
    a[0] = pair_at(rows + g * K + k + 2 * t);
    a[1] = pair_at(rows + (g + 8) * K + k + 2 * t);
    a[2] = pair_at(rows + g * K + k + 2 * t + 8);
    a[3] = pair_at(rows + (g + 8) * K + k + 2 * t + 8);
    b[0] = pair_at(x + g * K + k + 2 * t);
    b[1] = pair_at(x + g * K + k + 2 * t + 8);
    mma(c, a, b);
  }
  y[2 * t * N + 16 * warp + g] = c[0];
  y[(2 * t + 1) * N + 16 * warp + g] = c[1];
  y[2 * t * N + 16 * warp + g + 8] = c[2];
  y[(2 * t + 1) * N + 16 * warp + g + 8] = c[3];
}
