__global__ void gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
                     const float* zeros, X_T* y, int N, int K) {
  extern __shared__ X_T x_shared[];
  const int lane_id = threadIdx.x % WARP_SIZE, warp_id = threadIdx.x / WARP_SIZE;
  const int num_tiles = ceil_div(K, 256);
  stage_to_shared(x, x_shared, K, num_tiles * 256);

  const int n = blockIdx.x * 32 + 2 * warp_id;
  if (warp_id >= 16 || n >= N) return;
  const int next = min(n + 1, N - 1);
  const uint32_t* row = W_packed + static_cast<size_t>(n) * num_tiles * WARP_SIZE;
  const uint32_t* next_row = W_packed + static_cast<size_t>(next) * num_tiles * WARP_SIZE;
  const float zero = zeros[n], next_zero = zeros[next];
  float sum = 0.0f, next_sum = 0.0f;
  for (int tile = 0; tile < num_tiles; ++tile) {
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    const uint32_t next_word = next_row[tile * WARP_SIZE + lane_id];
    for (int j = 0; j < 8; ++j) {
      const int shift = 28 - 4 * j;
      const float x_met = to_float(x_shared[tile * 256 + j * WARP_SIZE + lane_id]);
      sum += ((word >> shift & 0xF) - zero) * x_met;
      next_sum += ((next_word >> shift & 0xF) - next_zero) * x_met;
    }
  }
  sum = warp_reduce_sum(sum);
  next_sum = warp_reduce_sum(next_sum);
  if (lane_id == 0) y[n] = static_cast<X_T>(scales[n] * sum);
  if (lane_id == 0 && n + 1 < N) y[n + 1] = static_cast<X_T>(scales[n + 1] * next_sum);
}
