// The skeleton of the fused low-bit GEMV: stage x, dequantize and multiply, reduce.
//
//   y[m, n] = sum over k of scales[n, g] * (W_q[n, k] - zeros[n, g]) * x[m, k],  g = k / GROUP_SIZE
//
//   x              (M, K)       X_T
//   W_packed       (N, words)   32-bit words, WORDS_PER_TILE for each TILE of codes
//   scales, zeros  (N, groups)  SUM_T; one group where GROUP_SIZE is WHOLE_ROW
//   y              (M, N)       Y_T
//
// Grid (ceil(N / warps_per_block), ceil(M / ROWS)): block (b, c) serves rows c * ROWS, ... of x in
// one pass over W, warp w of it output n = b * warps_per_block + w, and each of its lanes one word
// of a tile, or as many as load_word takes. Dynamic shared memory: ROWS rows of tiles_staged tiles
// of x; longer rows take turns. The including file defines the numbers (SUM_T, Y_T), the words
// (Word, WORDS_PER_TILE, PACK_FACTOR, load_word, from_code), and dequant_dot.
// claim: W 4 sectors/request, x_shared conflict-free
#pragma once
#include "memory.cuh"
#include "warp.cuh"

constexpr int TILE = WARP_SIZE * PACK_FACTOR;  // codes that one warp reads in one step
constexpr int WHOLE_ROW = 0x7fffffff;

// Names in scope: all that dequant_dot has, and dequant_dot, from_code, GROUP_SIZE, SUM_T, Word.
// BEGIN HOLE scaled_dot
// Like dequant_dot of the whole word, where scale and zero change every GROUP_SIZE codes along K.
// Code j is W_q[n, k + j * WARP_SIZE] and meets x[j * WARP_SIZE]; CODES_PER_GROUP codes, one after
// the other, share a group. scales and zeros are those of output n, `groups` each. What is beyond K
// has code 0, meets x = 0 and belongs to no group: the last one will do.
__device__ SUM_T scaled_dot(Word word, const X_T* x, int k, const SUM_T* scales, const SUM_T* zeros,
                            int groups) {
  SUM_T sum = 0;
  #pragma unroll
  for (int j = 0; j < PACK_FACTOR; j += CODES_PER_GROUP) {
    const int group = min((k + j * WARP_SIZE) / GROUP_SIZE, groups - 1);
    sum += scales[group] * dequant_dot(from_code(word, j), &x[j * WARP_SIZE], zeros[group]);
  }
  return sum;
}
// END HOLE

__global__ void __launch_bounds__(MAX_THREADS_PER_BLOCK)
gemv(const X_T* x, const uint32_t* W_packed, const SUM_T* scales, const SUM_T* zeros, Y_T* y,
     int M, int N, int K, int groups, int tiles_staged) {
  extern __shared__ X_T x_shared[];
  const int lane_id = threadIdx.x % WARP_SIZE;
  const int n = blockIdx.x * (blockDim.x / WARP_SIZE) + threadIdx.x / WARP_SIZE;
  const int first_m = blockIdx.y * ROWS;
  const int num_tiles = ceil_div(K, TILE), K_staged = tiles_staged * TILE;

  // A warp past the last output still meets the barriers and the shuffles below.
  const bool has_output = n < N;
  const size_t safe_n = has_output ? n : 0;
  const uint32_t* row = W_packed + safe_n * num_tiles * WORDS_PER_TILE;
  scales += safe_n * groups;
  zeros += safe_n * groups;
  const SUM_T scale = scales[0], zero = zeros[0];

  SUM_T sums[ROWS] = {};
  for (int first_tile = 0; first_tile < num_tiles; first_tile += tiles_staged) {
    const int start = first_tile * TILE;
    for (int r = 0; r < ROWS; ++r) {
      const size_t m = min(first_m + r, M - 1);
      stage_to_shared(&x[m * K + start], &x_shared[r * K_staged], min(K - start, K_staged), K_staged);
    }
    const int end_tile = has_output ? min(first_tile + tiles_staged, num_tiles) : 0;
    for (int tile = first_tile; tile < end_tile; ++tile) {
      const Word word = load_word(row, tile, num_tiles);
      const int k = tile * TILE + lane_id;
      #pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const X_T* x_met = &x_shared[r * K_staged + k - start];
        sums[r] += GROUP_SIZE == WHOLE_ROW ? dequant_dot(word, x_met, zero)
                                           : scaled_dot(word, x_met, k, scales, zeros, groups);
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const SUM_T sum = warp_reduce_sum(sums[r]);
    if (has_output && first_m + r < M && lane_id == 0) {
      y[static_cast<size_t>(first_m + r) * N + n] =
          static_cast<Y_T>(GROUP_SIZE == WHOLE_ROW ? sum * scale : sum);
    }
  }
}
