// The part of gemv_a16w7_sparse_fast around its hole. A step is a tile of the words, 256 k, of 16
// outputs, for one warp. Byte j of word w, from the highest on, has the weight of k = 64 j + w or of
// k + 32. Lane 4 g + t takes words 16 h + 4 t to 16 h + 4 t + 3 of rows g and g + 8, for h = 0 and 1:
// neighbours along k, in plane 4 j + h or, where the second of the pair is kept, 4 j + h + 2.
#pragma once

constexpr int PLANES = 16, STEP = 256;
constexpr int PART = GROUP_SIZE < STEP ? GROUP_SIZE : STEP;  // of a step, with one scale
constexpr int PARTS = STEP / PART, STEPS_PER_GROUP = GROUP_SIZE / PART;
constexpr int THREADS = WARPS * WARP_SIZE, TILE_N = 16;

#include "early.cuh"
#include "gemv_fast_x.cuh"
#include "levels.cuh"

using Words = uint4;
struct Step {
  Words words[2][2];  // of row g or g + 8, for h = 0 or 1
  SCALE_T scales[2][PARTS];
  ZERO_T zeros[2][PARTS];
};

// Rows beyond N read the last again. __ldcs: the caches need not keep what is read once.
__device__ inline Step load_step(const Words* W, const SCALE_T* scales, const ZERO_T* zeros,
                                 unsigned N, unsigned steps, unsigned first_n, unsigned at) {
  const unsigned lane_id = threadIdx.x % WARP_SIZE, g = lane_id / 4, t = lane_id % 4;
  const unsigned group = PARTS == 1 ? at / STEPS_PER_GROUP : at * PARTS;
  Step step;
  #pragma unroll
  for (int row = 0; row < 2; ++row) {
    const unsigned n = min(first_n + row * 8 + g, N - 1);
    #pragma unroll
    for (int h = 0; h < 2; ++h) step.words[row][h] = __ldcs(&W[(n * steps + at) * 8 + h * 4 + t]);
    #pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      step.scales[row][part] = __ldg(&scales[(group + part) * N + n]);
      step.zeros[row][part] = __ldg(&zeros[(group + part) * N + n]);
    }
  }
  return step;
}

// Has L2 bring the words that load_step will load: two lanes have those of a row.
__device__ inline void bring_step(const Words* W, unsigned N, unsigned steps, unsigned first_n,
                                  unsigned at) {
  const unsigned lane_id = threadIdx.x % WARP_SIZE, n = min(first_n + lane_id / 2, N - 1);
  const Words* words = &W[(n * steps + at) * 8 + lane_id % 2 * 4];
  bring_to_l2(words);
  bring_to_l2(words + 2);
}

using XPart = float;  // what undoes the scaling of x; halves have none
__device__ inline bool prepare_hole(const float*) { return true; }
__device__ inline void prepare_x(uint4* x_shared, XPart* x_parts, int padded_K) {
  for_own_halves(x_shared, padded_K, [&](int m, int k, const uint32_t (&)[4], float power) {
    if (!IS_HALF && k < padded_K && k % PART == 0) x_parts[k / PART * ROWS + m] = power;
  });
}

using Totals = float[2][2];  // of row g or g + 8, column 2 t or 2 t + 1

// Adds the products with byte j of the words for h to dots.
__device__ inline void multiply_bytes(const Step& step, int j, int h, int part,
                                      const uint4* x_shared, int lane_x, Totals& dots) {
  Pairs pairs[2][2];
  #pragma unroll
  for (int row = 0; row < 2; ++row) {
    const Words words = step.words[row][h];
    const half2 zero = __half2half2(step.zeros[row][part]);
    pairs[row][0] = dequant_pairs(words.x, words.y, 3 - j, zero);
    pairs[row][1] = dequant_pairs(words.z, words.w, 3 - j, zero);
  }
  const uint2 x = met_x(x_shared, lane_x, 4 * j + h);
  multiply_add(dots[0], pairs[0][0].first, pairs[1][0].first, pairs[0][1].first, pairs[1][1].first,
               x.x, x.y);
  const uint2 further = met_x(x_shared, lane_x, 4 * j + h + 2);
  multiply_add(dots[0], pairs[0][0].second, pairs[1][0].second, pairs[0][1].second,
               pairs[1][1].second, further.x, further.y);
}

// Adds a step's share to totals; lane_x, x_parts: where those of the step begin.
__device__ inline void add_step(const Step& step, const uint4* x_shared, int lane_x,
                                const XPart* x_parts, Totals& totals) {
  constexpr int PART_BYTES = 4 / PARTS;
  const int t = threadIdx.x % 4;
  #pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    Totals dots = {};
    #pragma unroll
    for (int i = 0; i < PART_BYTES * 2; ++i) {
      multiply_bytes(step, part * PART_BYTES + i / 2, i % 2, part, x_shared, lane_x, dots);
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = i / 2, m = i % 2;
      if (m >= ROWS) continue;
      const float power = IS_HALF ? 1.0f : x_parts[part * ROWS + 2 * t % ROWS + m];
      const float scale = __half2float(step.scales[row][part]) * (1.0f / UNIT);
      totals[row][m] += power * (scale * dots[row][m]);
    }
  }
}

__device__ inline void hand_in(Totals& totals, float* partial) {
  const int lane_id = threadIdx.x % WARP_SIZE, g = lane_id / 4, t = lane_id % 4;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = i / 2, m = 2 * t + i % 2;
    if (m < ROWS) partial[(row * 8 + g) * ROWS + m] = totals[row][i % 2];
    totals[row][i % 2] = 0.0f;
  }
}

#include "gemv_fast_blocks.cuh"
