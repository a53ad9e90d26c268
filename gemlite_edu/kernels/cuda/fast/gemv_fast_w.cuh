// The part of gemv_fast.cuh that reads weights: words, scales and zeros.
// In scope: PLANES, FIELDS, REST, IN_BYTES, PARTS, STEPS_PER_GROUP, TILES, ROWS, MODE, SCALE_T, ZERO_T.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include <type_traits>

#include "early.cuh"
#include "gemv_fast_words.cuh"
#include "weight_modes.cuh"

// A tensor core has 8 columns: where ROWS is less they repeat, and COPIES lanes 4 g + t hold the same
// sums of rows g and g + 8. SHARERS of them share out what is left to do with these, and read scales
// and zeros only for it: of rows and parts, numbered row first, each takes SLOTS.
constexpr int COPIES = ROWS == 1 ? 4 : 8 / ROWS;
// A table of 3 bits leaves instructions and reads of shared memory scarce: there only lanes with
// t = 0 and 1 are sharers, and lanes 16 to 31, whose x makes the columns of t = 2 and 3, read none.
constexpr bool HALF_READS = COPIES == 4 && W_NBITS == 3 && IN_BYTES;
constexpr int SHARERS = COPIES == 4 && (PARTS % 2 == 1 || HALF_READS) ? 2 : COPIES;
constexpr int SLOTS = 2 * PARTS / SHARERS;
__device__ inline int share_of(int t) { return t * COPIES / 4 % SHARERS; }

// What a lane reads of a tile in a step: words of rows g and g + 8 of each 16.
struct Step {
  RowWords words[TILES][2];
  SCALE_T scales[TILES][SLOTS];
  ZERO_T zeros[TILES][SLOTS];
};

// Of a step, W has two halves of all rows, then the next two; lanes 4 g to 4 g + 3 share out those of
// row n + further. __ldcs: the caches need not keep what is read once.
__device__ inline RowWords load_row(const Words* W, unsigned N, unsigned at, unsigned n, int further,
                                    unsigned t) {
  RowWords row;
  #pragma unroll
  for (int i = 0; i < REGISTERS / 4; ++i) {
    row.fours[i] = __ldcs(&W[(at * REGISTERS + i * 4) * N + n * 4 + t] + further * 4);
  }
  if (REGISTERS % 4 == 2) {
    const unsigned from = ((at * (REGISTERS / 2) + REGISTERS / 2 - 1) * N + n) * 4 + t;
    row.two = __ldcs(&reinterpret_cast<const uint2*>(W)[from] + further * 4);
  }
  return row;
}

// Rows beyond N read the last again: nearest(n, further) is how far behind row n to read.
template <typename Nearest>
__device__ inline Step load_rows(const Words* W, const SCALE_T* scales, const ZERO_T* zeros,
                                 unsigned N, unsigned first_n, unsigned at, Nearest nearest) {
  const unsigned lane_id = threadIdx.x % WARP_SIZE, g = lane_id / 4, t = lane_id % 4;
  const unsigned group = PARTS == 1 ? at / STEPS_PER_GROUP : at * PARTS;
  Step step;
  #pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
    #pragma unroll
    for (int j = 0; j < 2; ++j) {
      const unsigned n = first_n + g;
      step.words[tile][j] = load_row(W, N, at, n, nearest(n, tile * 16 + j * 8), t);
    }
    #pragma unroll
    for (int slot = 0; slot < SLOTS; ++slot) {
      const unsigned own = slot * SHARERS + share_of(t), n = first_n + g + own % 2 * 8;
      const unsigned from = (group + own / 2) * N + n;
      const int further = nearest(n, tile * 16);
      if (HAS_SCALES) step.scales[tile][slot] = __ldg(&scales[from] + further);
      if (HAS_ZEROS) step.zeros[tile][slot] = __ldg(&zeros[from] + further);
    }
  }
  return step;
}
// Where all rows are there, the distances are known to the compiler.
__device__ inline Step load_step(const Words* W, const SCALE_T* scales, const ZERO_T* zeros,
                                 unsigned N, unsigned, unsigned first_n, unsigned at) {
  if (first_n + TILE_N <= N) {
    return load_rows(W, scales, zeros, N, first_n, at, [](unsigned, int further) { return further; });
  }
  return load_rows(W, scales, zeros, N, first_n, at, [N](unsigned n, int further) {
    return min(further, static_cast<int>(N - 1) - static_cast<int>(n));
  });
}

// Has L2 bring the words that load_step will load.
__device__ inline void bring_step(const Words* W, unsigned N, unsigned, unsigned first_n, unsigned at) {
  const unsigned bytes_of_rows = min(TILE_N, N - first_n) * 64;
  for (unsigned byte = threadIdx.x % WARP_SIZE * 32; byte < bytes_of_rows; byte += WARP_SIZE * 32) {
    #pragma unroll
    for (int i = 0; i < REGISTERS / 4; ++i) {
      const Words* of_rows = &W[(at * REGISTERS + i * 4) * N + first_n * 4];
      bring_to_l2(reinterpret_cast<const char*>(of_rows) + byte);
    }
  }
}

// A row's sum of products with weights, from that with codes.
__device__ inline float weighted(float dot, const Step& step, int tile, int slot, float sum_x) {
  const float scale = HAS_SCALES ? static_cast<float>(step.scales[tile][slot]) : 1.0f;
  const float zero = HAS_ZEROS ? static_cast<float>(step.zeros[tile][slot]) : 0.0f;
  if (MODE == FMA) return scale * dot + zero * sum_x;
  return scale * (HAS_ZEROS ? dot - zero * sum_x : dot);
}
