// The part of gemv_fast.cuh that reads weights: words, scales and zeros.
// In scope: PLANES, FIELDS, PARTS, STEPS_PER_GROUP, TILES, ROWS, MODE, SCALE_T, ZERO_T.
//
// A code of CODE_NBITS comes in pieces, whose bits are the powers of two that add up to CODE_NBITS,
// the largest piece in the lowest bits: 7 bits in 4, 2 and 1. Each piece has words of its own. A lane
// joins the pieces in fields of W_NBITS, so what dequant_pair sees is a code of W_NBITS.
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

using Words = uint4;  // what W_packed is counted in
constexpr int REGISTERS = CODE_NBITS * PLANES / 8;  // of a lane for a row's words, and Words of the row
__host__ __device__ constexpr int bits_below(int piece) { return CODE_NBITS & -2 * piece; }

// What a lane has of a row's words: of its four neighbours along k, all bits, piece after piece. Only
// the words of the least piece may be of 16 bits: `two` has them.
struct RowWords {
  uint4 fours[REGISTERS < 4 ? 1 : REGISTERS / 4];
  uint2 two;
};

// Halves of a piece for neighbours 2 i and 2 i + 1. In words of 16 bits they are neighbours too.
__device__ inline uint32_t halves_of(const RowWords& row, int piece, int half, int i) {
  if (PLANES * piece == 16) return i == 0 ? row.two.x : row.two.y;
  const uint4 words = row.fours[bits_below(piece) * PLANES / 32 + half / 2];
  const uint32_t first = i == 0 ? words.x : words.z, second = i == 0 ? words.y : words.w;
  return __byte_perm(first, second, half % 2 == 0 ? 0x5410 : 0x7632);
}

// The codes of neighbours 2 i and 2 i + 1 in planes joint * FIELDS + f, for every field f. A half of a
// piece has codes for as many joints as pieces fit into a field: a shift and a mask take one joint's.
__device__ inline uint32_t pairs_of(const RowWords& row, int joint, int i) {
  constexpr uint32_t EACH_FIELD = 0xFFFFFFFFu / ((1u << W_NBITS) - 1u);
  uint32_t pairs = 0;
  #pragma unroll
  for (int piece = W_NBITS; piece > 0; piece /= 2) {
    if ((CODE_NBITS & piece) == 0) continue;
    const int joints = W_NBITS / piece, up = bits_below(piece) - joint % joints * piece;
    const uint32_t halves = halves_of(row, piece, joint / joints, i);
    if (piece == W_NBITS) return halves;
    const uint32_t mask = (EACH_FIELD << bits_below(piece)) * ((1u << piece) - 1u);
    pairs = and_or(up < 0 ? halves >> -up : halves << up, mask, pairs);
  }
  return pairs;
}

// What a lane reads of a tile in a step: words of rows g and g + 8 of each 16.
struct Step {
  RowWords words[TILES][2];
  SCALE_T scales[TILES][SLOTS];
  ZERO_T zeros[TILES][SLOTS];
};

// Of a step, W has the first piece of all rows, then the next; lanes 4 g to 4 g + 3 share out those of
// row n. __ldcs: the caches need not keep what is read once.
__device__ inline RowWords load_row(const Words* W, unsigned N, unsigned at, unsigned n, unsigned t) {
  RowWords row;
  #pragma unroll
  for (int i = 0; i < REGISTERS / 4; ++i) {
    row.fours[i] = __ldcs(&W[(at * REGISTERS + i * 4) * N + n * 4 + t]);
  }
  if (REGISTERS % 4 == 2) {
    const unsigned from = ((at * (REGISTERS / 2) + REGISTERS / 2 - 1) * N + n) * 4 + t;
    row.two = __ldcs(&reinterpret_cast<const uint2*>(W)[from]);
  }
  return row;
}

// Rows beyond N read the last again.
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
      step.words[tile][j] = load_row(W, N, at, min(n + j * 8, N - 1), t);
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
