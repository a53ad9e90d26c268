// The part of gemv_fast.cuh that reads weights: words, scales and zeros.
// In scope: PLANES, FIELDS, REST, PARTS, STEPS_PER_GROUP, TILES, ROWS, MODE, SCALE_T, ZERO_T.
//
// A half, 16 bits, has FIELDS codes, the first in its lowest bits. Where W_NBITS does not divide 16,
// REST bits at its top are left, and the rests of a step's HALVES, one after the other, are the codes
// of its last planes: 3 bits have five codes in each of 3 halves, and a sixteenth in their rests.
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
constexpr int REGISTERS = W_NBITS * PLANES / 8;  // of a lane for a row's words, and Words of the row
constexpr int HALVES = REGISTERS / 2;            // of each neighbour along k

// The field of a plane's codes in what pairs_of returns. Codes of a rest come to a field in which
// dequant_pair need not shift them.
constexpr int REST_FIELD = FIELDS > 2 ? 1 : 0;
__host__ __device__ constexpr int field_of(int plane) {
  return REST != 0 && plane >= HALVES * FIELDS ? REST_FIELD : plane % FIELDS;
}

// What a lane has of a row's words: all bits of its four neighbours along k. If their HALVES are odd,
// `two` has the last ones.
struct RowWords {
  uint4 fours[REGISTERS < 4 ? 1 : REGISTERS / 4];
  uint2 two;
};

// Halves of neighbours 2 i and 2 i + 1.
__device__ inline uint32_t halves_of(const RowWords& row, int half, int i) {
  if (HALVES % 2 == 1 && half == HALVES - 1) return i == 0 ? row.two.x : row.two.y;
  const uint4 words = row.fours[half / 2];
  if (REST != 0) {
    return half % 2 == 0 ? (i == 0 ? words.x : words.y) : (i == 0 ? words.z : words.w);
  }
  // A word has the two halves of one neighbour.
  const uint32_t first = i == 0 ? words.x : words.z, second = i == 0 ? words.y : words.w;
  return __byte_perm(first, second, half % 2 == 0 ? 0x5410 : 0x7632);
}

// Codes of neighbours 2 i and 2 i + 1 that the rests have, in field REST_FIELD. They are bits `from`
// to `end` of all rests: a shift and a mask for each half in which some of them are.
__device__ inline uint32_t pairs_of_rests(const RowWords& row, int code, int i) {
  const int from = code * W_NBITS, end = from + W_NBITS;
  uint32_t pairs = 0;
  #pragma unroll
  for (int half = 0; half < HALVES; ++half) {
    const int first = max(from, half * REST), last = min(end, (half + 1) * REST);
    if (first >= last) continue;
    const int bit = 16 - REST + first - half * REST, place = W_NBITS * REST_FIELD + first - from;
    const uint32_t mask = ((1u << (last - first)) - 1u) * 0x00010001u << place;
    pairs = and_or(halves_of(row, half, i) >> (bit - place), mask, pairs);
  }
  return pairs;
}

// Registers whose field field_of(plane) has the codes of neighbours 2 i and 2 i + 1 in this plane.
__device__ inline uint32_t pairs_of(const RowWords& row, int plane, int i) {
  const int of_rests = plane - HALVES * FIELDS;
  return of_rests < 0 ? halves_of(row, plane / FIELDS, i) : pairs_of_rests(row, of_rests, i);
}

// What a lane reads of a tile in a step: words of rows g and g + 8 of each 16.
struct Step {
  RowWords words[TILES][2];
  SCALE_T scales[TILES][SLOTS];
  ZERO_T zeros[TILES][SLOTS];
};

// Of a step, W has two halves of all rows, then the next two; lanes 4 g to 4 g + 3 share out those of
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
