// The lanes' sums meet in shared memory, and lane 31 adds them up. One loop counts all codes of a row.
__global__ void gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
                     const float* zeros, X_T* y, int N, int K) {
  extern __shared__ X_T x_shared[];
  __shared__ float partial[32][33];
  const int lane_id = threadIdx.x % 32, warp_id = threadIdx.x / 32;
  const int n = blockIdx.x * 32 + warp_id, num_tiles = ceil_div(K, 256);
  for (int k = threadIdx.x; k < K; k += blockDim.x) x_shared[k] = x[k];
  for (int k = K + threadIdx.x; k < 256 * num_tiles; k += blockDim.x) x_shared[k] = X_T(0.0f);
  __syncthreads();

  float sums[4] = {};
  for (int i = 0; n < N && i < num_tiles * 8; ++i) {
    const int tile = i / 8, j = i % 8;
    const uint32_t word = W_packed[(size_t(n) * num_tiles + tile) * 32 + lane_id];
    const int code = word >> (28 - 4 * j) & 15;
    sums[i % 4] += (code - zeros[n]) * to_float(x_shared[32 * i + lane_id]);
  }
  partial[warp_id][lane_id] = sums[0] + sums[1] + sums[2] + sums[3];
  __syncwarp();
  if (n < N && lane_id == 31) {
    float sum = 0.0f;
    for (int lane = 0; lane < 32; ++lane) sum += partial[warp_id][lane];
    y[n] = static_cast<X_T>(scales[n] * sum);
  }
}
