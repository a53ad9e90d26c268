// A lane takes two neighbouring words, so the x that they meet are neighbours, too: one read brings both.
__global__ void gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
                     const float* zeros, X_T* y, int N, int K) {
  extern __shared__ X_T x_shared[];
  const int lane = threadIdx.x % 32, n = blockIdx.x * 32 + threadIdx.x / 32;
  const int words = ceil_div(K, 256) * 32;
  stage_to_shared(x, x_shared, K, words * 8);
  if (n >= N) return;
  const float zero = zeros[n];
  float sum = 0.0f;
  for (int at = 2 * lane; at < words; at += 64) {
    const uint2 pair = *reinterpret_cast<const uint2*>(&W_packed[size_t(n) * words + at]);
    const X_T* x_met = &x_shared[at / 32 * 256 + at % 32];
    for (int i = 0; i < 8; ++i) {
      const int j = i ^ (lane / 16);  // the upper lanes are a tile further on: other banks
      const uint32_t both = *reinterpret_cast<const uint32_t*>(&x_met[32 * j]);
      const X_T* two = reinterpret_cast<const X_T*>(&both);
      sum += ((pair.x >> (28 - 4 * j) & 15) - zero) * to_float(two[0]);
      sum += ((pair.y >> (28 - 4 * j) & 15) - zero) * to_float(two[1]);
    }
  }
  sum = warp_reduce_sum(sum);
  if (lane == 0) y[n] = static_cast<X_T>(sum * scales[n]);
}
