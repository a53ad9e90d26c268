// The part of gemv_fast.cuh that reads weights: words, scales and zeros.
// In scope: WORD_BITS, PARTS, STEPS_PER_GROUP, TILES, ROWS, MODE, SCALE_T, ZERO_T.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include <type_traits>

#include "warp.cuh"
#include "weight_modes.cuh"

// A tensor core has 8 columns: where ROWS is less they repeat, and COPIES lanes 4 g + t hold the same
// sums of rows g and g + 8. SHARERS of them share out what is left to do with these, and read scales
// and zeros only for it: of rows and parts, numbered row first, each takes SLOTS.
constexpr int COPIES = ROWS == 1 ? 4 : 8 / ROWS;
constexpr int SHARERS = COPIES == 4 && PARTS % 2 == 1 ? 2 : COPIES;
constexpr int SLOTS = 2 * PARTS / SHARERS;
__device__ inline int share_of(int t) { return t * COPIES / 4 % SHARERS; }

// What a lane has of a row's words, and the pairs of neighbours in it: number i of field f, or, of
// words of 32 bits, of field f + upper * FIELDS.
using Words = std::conditional<WORD_BITS == 32, uint4, uint2>::type;
__device__ inline uint32_t pairs_of(uint4 words, bool upper, int i) {
  const uint32_t first = i == 0 ? words.x : words.z, second = i == 0 ? words.y : words.w;
  return __byte_perm(first, second, upper ? 0x7632 : 0x5410);
}
__device__ inline uint32_t pairs_of(uint2 words, bool, int i) { return i == 0 ? words.x : words.y; }

// What a lane reads of a tile in a step: words of rows g and g + 8 of each 16.
struct Step {
  Words words[TILES][2];
  SCALE_T scales[TILES][SLOTS];
  ZERO_T zeros[TILES][SLOTS];
};

// Rows beyond N read the last again. __ldcs: the caches need not keep what is read once.
__device__ inline Step load_step(const Words* W, const SCALE_T* scales, const ZERO_T* zeros,
                                 unsigned N, unsigned, unsigned first_n, unsigned at) {
  const unsigned lane_id = threadIdx.x % WARP_SIZE, g = lane_id / 4, t = lane_id % 4;
  const unsigned group = PARTS == 1 ? at / STEPS_PER_GROUP : at * PARTS;
  Step step;
  #pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
    const unsigned n = first_n + tile * 16 + g;
    #pragma unroll
    for (int j = 0; j < 2; ++j) {
      step.words[tile][j] = __ldcs(&W[(at * N + min(n + j * 8, N - 1)) * 4 + t]);
    }
    #pragma unroll
    for (int slot = 0; slot < SLOTS; ++slot) {
      const unsigned own = slot * SHARERS + share_of(t);
      const unsigned from = (group + own / 2) * N + min(n + own % 2 * 8, N - 1);
      if (HAS_SCALES) step.scales[tile][slot] = __ldg(&scales[from]);
      if (HAS_ZEROS) step.zeros[tile][slot] = __ldg(&zeros[from]);
    }
  }
  return step;
}

// A row's sum of products with weights, from that with codes.
__device__ inline float weighted(float dot, const Step& step, int tile, int slot, float sum_x) {
  const float scale = HAS_SCALES ? static_cast<float>(step.scales[tile][slot]) : 1.0f;
  const float zero = HAS_ZEROS ? static_cast<float>(step.zeros[tile][slot]) : 0.0f;
  if (MODE == FMA) return scale * dot + zero * sum_x;
  return scale * (HAS_ZEROS ? dot - zero * sum_x : dot);
}
