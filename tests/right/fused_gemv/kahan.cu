// A compensated sum (Kahan), and the next code of a word shifted to the top.
struct Sum {
  float total = 0.0f, lost = 0.0f;
  __device__ void add(float term) {
    const float corrected = __fsub_rn(term, lost);
    const float next = __fadd_rn(total, corrected);
    lost = __fsub_rn(__fsub_rn(next, total), corrected);
    total = next;
  }
};

__global__ void __launch_bounds__(MAX_THREADS_PER_BLOCK)
gemv(const X_T* x, const uint32_t* W_packed, const float* scales, const float* zeros, X_T* y,
     int N, int K) {
  extern __shared__ X_T x_shared[];
  constexpr int CODES = 8, TILE = CODES * WARP_SIZE;
  const int lane_id = threadIdx.x % WARP_SIZE;
  const int n = blockIdx.x * (blockDim.x / WARP_SIZE) + threadIdx.x / WARP_SIZE;
  const int num_tiles = ceil_div(K, TILE);
  stage_to_shared(x, x_shared, K, num_tiles * TILE);

  Sum sum;
  const bool has_output = n < N;
  const float zero = has_output ? zeros[n] : 0.0f;
  for (int tile = 0; has_output && tile < num_tiles; ++tile) {
    uint32_t word = W_packed[(static_cast<size_t>(n) * num_tiles + tile) * WARP_SIZE + lane_id];
    for (int k = tile * TILE + lane_id; k < (tile + 1) * TILE; k += WARP_SIZE) {
      sum.add(__fmul_rn(static_cast<float>(word >> 28) - zero, to_float(x_shared[k])));
      word <<= 4;  // the next code is the first one now
    }
  }
  const float total = warp_reduce_sum(sum.total - sum.lost);
  if (has_output && lane_id == 0) y[n] = static_cast<X_T>(total * scales[n]);
}
