// All lanes of a warp have one n, so that the whole warp may leave out its shuffles.
__global__ void gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
                     const float* zeros, X_T* y, int N, int K) {
  extern __shared__ X_T x_shared[];
  const int lane_id = threadIdx.x % WARP_SIZE;
  const int n = (blockIdx.x * blockDim.x + threadIdx.x) / WARP_SIZE;
  const int padded_K = (K + 255) & ~255;
  stage_to_shared(x, x_shared, K, padded_K);
  if (n < N) {
    float sum = 0.0f;
    const uint32_t* word = &W_packed[static_cast<size_t>(n) * (padded_K / 8) + lane_id];
    for (const X_T* x_met = &x_shared[lane_id]; x_met < &x_shared[padded_K]; x_met += 256) {
      for (int shift = 28, k = 0; shift >= 0; shift -= 4, k += 32) {
        sum = fmaf((*word >> shift & 15u) - zeros[n], to_float(x_met[k]), sum);
      }
      word += 32;
    }
    sum = warp_reduce_sum(sum);
    if (lane_id == 0) y[n] = static_cast<X_T>(sum * scales[n]);
  }
}
