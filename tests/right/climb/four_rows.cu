// A warp takes four rows; a row that W has not gives its place to the last one, and writes nothing.
__global__ void gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
                     const float* zeros, X_T* y, int N, int K) {
  extern __shared__ X_T x_shared[];
  constexpr int ROWS = 4;
  const int lane_id = threadIdx.x % 32, tiles = ceil_div(K, 256);
  stage_to_shared(x, x_shared, K, tiles * 256);
  const int first = blockIdx.x * 32 + threadIdx.x / 32 * ROWS;
  if (threadIdx.x / 32 >= 32 / ROWS || first >= N) return;
  float sums[ROWS] = {}, zero[ROWS];
  const uint32_t* rows[ROWS];
  for (int r = 0; r < ROWS; ++r) {
    const int n = min(first + r, N - 1);
    rows[r] = W_packed + size_t(n) * tiles * 32 + lane_id;
    zero[r] = zeros[n];
  }
  for (int tile = 0; tile < tiles; ++tile) {
    uint32_t words[ROWS];
    for (int r = 0; r < ROWS; ++r) words[r] = rows[r][tile * 32];
    for (int j = 0; j < 8; ++j) {
      const float x_met = to_float(x_shared[tile * 256 + j * 32 + lane_id]);
      for (int r = 0; r < ROWS; ++r) {
        sums[r] += ((words[r] >> (28 - 4 * j) & 15) - zero[r]) * x_met;
      }
    }
  }
  for (int r = 0; r < ROWS; ++r) {
    const float sum = warp_reduce_sum(sums[r]);
    if (lane_id == 0 && first + r < N) y[first + r] = static_cast<X_T>(sum * scales[first + r]);
  }
}
