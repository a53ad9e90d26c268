// A lane steps through the row by 32 words; each word says which x it meets.
__device__ float weight(uint32_t word, int field, float zero) {
  return static_cast<float>(word << (4 * field) >> 28) - zero;
}

__global__ void gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
                     const float* zeros, X_T* y, int N, int K) {
  extern __shared__ X_T staged[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int n = 32 * blockIdx.x + warp;
  const int words = (K + 255) / 256 * 32;
  for (int k = threadIdx.x; k < 8 * words; k += blockDim.x) {
    staged[k] = k < K ? x[k] : X_T(0.0f);
  }
  __syncthreads();
  if (n >= N) return;  // no barrier comes any more
  float sum = 0.0f;
  for (int w = lane; w < words; w += 32) {
    const uint32_t word = __ldg(&W_packed[static_cast<size_t>(n) * words + w]);
    const int first = w / 32 * 256 + w % 32;
    for (int field = 7; field >= 0; --field) {
      sum += weight(word, field, zeros[n]) * to_float(staged[first + 32 * field]);
    }
  }
  for (int offset = 1; offset < 32; offset *= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
  if (lane == 0) y[n] = static_cast<X_T>(sum * scales[n]);
}
