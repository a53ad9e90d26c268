__global__ void mma_rows(const half* W, const half* x, float* y, int N, int K) {
  const int row = threadIdx.x % 32 >> 2, two = (threadIdx.x & 3) << 1;
  const int n = (blockIdx.x * blockDim.x + threadIdx.x >> 5 << 4) + row;
  const half *upper = W + n * K + two, *lower = upper + 8 * K, *of_x = x + row * K + two;
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int left = K; left > 0; left -= 16) {
    const uint32_t a[] = {pair_at(upper), pair_at(lower), pair_at(upper + 8), pair_at(lower + 8)};
    const uint32_t b[] = {pair_at(of_x), pair_at(of_x + 8)};
    mma(c, a, b);
    upper += 16;
    lower += 16;
    of_x += 16;
  }
  float* out = y + two * N + n;
  out[0] = c[0];
  out[N] = c[1];
  out[8] = c[2];
  out[N + 8] = c[3];
}
