// The skeleton of the fused low-bit GEMV: stage x, dequantize and multiply, reduce.
//
//   y[m, n] = scales[n] * sum over k of (W_q[n, k] - zeros[n]) * x[m, k]
//
//   x        (M, K)              X_T, half or __nv_bfloat16
//   W_packed (N, words_per_row)  32-bit words, warp-interleaved (packing/warp_interleaved.py)
//   scales, zeros (N)            float
//   y        (M, N)              X_T
//
// Grid (ceil(N / warps_per_block), M): block (b, m) serves row m of x, warp w of it output
// n = b * warps_per_block + w, lane l the words l, l + 32, ... of row n of W_packed.
// Dynamic shared memory: x padded to whole tiles, padded_K * sizeof(X_T) bytes.
// The including file defines W_NBITS, PACK_FACTOR, CODE_MASK and dequant_dot.
// claim: W 4 sectors/request, x 2 sectors/request, x_shared conflict-free
#pragma once
#include "memory.cuh"
#include "warp.cuh"

constexpr int TILE = WARP_SIZE * PACK_FACTOR;  // codes that one warp reads in one step

// Names in scope: WARP_SIZE, TILE, threadIdx.
// BEGIN HOLE load_word
// The word of a row that this lane takes in step `tile`; its codes meet x from tile * TILE + lane.
__device__ uint32_t load_word(const uint32_t* row, int tile, int num_tiles) {
  const int lane_id = threadIdx.x % WARP_SIZE;
  return __ldg(&row[tile * WARP_SIZE + lane_id]);
}
// END HOLE

__global__ void __launch_bounds__(MAX_THREADS_PER_BLOCK)
gemv(const X_T* x, const uint32_t* W_packed, const float* scales, const float* zeros, X_T* y,
     int N, int K) {
  extern __shared__ X_T x_shared[];
  const int lane_id = threadIdx.x % WARP_SIZE;
  const int n = blockIdx.x * (blockDim.x / WARP_SIZE) + threadIdx.x / WARP_SIZE;
  const size_t m = blockIdx.y;
  const int num_tiles = ceil_div(K, TILE);

  stage_to_shared(x + m * K, x_shared, K, num_tiles * TILE);

  // A warp past the last output still meets the barrier above and the shuffles below.
  float sum = 0.0f;
  if (n < N) {
    const uint32_t* row = W_packed + static_cast<size_t>(n) * num_tiles * WARP_SIZE;
    const float zero = zeros[n];
    for (int tile = 0; tile < num_tiles; ++tile) {
      const uint32_t word = load_word(row, tile, num_tiles);
      sum += dequant_dot(word, &x_shared[tile * TILE + lane_id], zero);
    }
  }
  sum = warp_reduce_sum(sum);
  if (n < N && lane_id == 0) {
    y[m * N + n] = from_float<X_T>(sum * scales[n]);
  }
}
