__global__ void gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
                     const float* zeros, X_T* y, int N, int K) {
  extern __shared__ X_T x_shared[];
  __shared__ int summed[32];
  const int lane_id = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
  const int n = blockIdx.x * (blockDim.x / WARP_SIZE) + warp;
  const int num_tiles = ceil_div(K, 256);

  stage_to_shared(x, x_shared, K, num_tiles * 256);
  if (lane_id == 0) summed[warp] = 0;
  __syncwarp();

  float sum = 0.0f;
  if (n < N) {
    const uint32_t* row = W_packed + static_cast<size_t>(n) * num_tiles * WARP_SIZE;
    for (int tile = 0; tile < num_tiles; ++tile) {
      const uint32_t word = row[tile * WARP_SIZE + lane_id];
      const X_T* x_met = &x_shared[tile * 256 + lane_id];
      for (int j = 0; j < 8; ++j) {
        const uint32_t code = (word >> (28 - 4 * j)) & 0xF;
        sum += (code - zeros[n]) * to_float(x_met[j * WARP_SIZE]);
      }
    }
  }
  sum = warp_reduce_sum(sum);
  atomicAdd(&summed[warp], 1);
  __syncwarp();
  if (n < N && lane_id == 0 && summed[warp] == WARP_SIZE) {
    y[n] = static_cast<X_T>(scales[n] * sum);
  }
}
