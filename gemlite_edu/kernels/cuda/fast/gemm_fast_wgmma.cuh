// The part of gemm_fast.cuh that multiplies, for 32 rows of x and more: weights are made in half,
// with their scales and zeros, and go to wgmma from registers; x it finds in shared memory itself.
#pragma once
#include "once.cuh"
#include "wgmma_f16.cuh"

// For bindings.cu: the second parameter, x, is a map. sizes: M, N and K.
#define MAPPED_PARAMETER 1
#ifdef __CUDACC__
inline cudaError_t map_parameter(RowMap& map, int64_t x, const int64_t* sizes) {
  return map_rows<ROWS>(map, x, sizes[0], sizes[2]);
}
#endif

static_assert(WARPS_N % 4 == 0, "four warps make 64 rows of W for a wgmma");
static_assert(TILE_K % BOX_K == 0 && ROWS % 8 == 0 && ROWS <= 256, "a step of x is whole boxes");
constexpr int PRODUCTS = PLANES * TILES;                       // of a step
constexpr int BUFFERS = ROWS == 128 && WORKERS == 16 ? 2 : 4;  // those that wgmma is at work with at once

__device__ inline void bring_rows(uint4* to, const Operands& from, int row_block, int place,
                                  const Problem& of, uint64_t* full) {
  barrier_arrive_expecting(full, X_BYTES);
  #pragma unroll
  for (int i = 0; i < TILE_K; i += BOX_K) {
    const Box box = {row_block * ROWS, place * TILE_K + i, of.M, of.steps * TILE_K};
    copy_box<ROWS>(&to[i / BOX_K * BOX_PIECES * ROWS], *from.x, box, full);
  }
}

// What a lane has throughout: where it finds its share of every stage, and the weights that wgmma may
// still read.
struct Lane {
  int row;          // row g of W, counted in the block; g + 8 is the next one
  int first, ones;  // which pieces of the words of row g it reads first
  GroupOperand x;   // of stage 0, if all warps are one group
  half2 weights[BUFFERS][4];
};

// Of the words that lie together, lanes of some rows, or odd lanes, read the other half first, so that
// no banks conflict: so many pieces further on, which are uint2, or Words where a rest is left.
constexpr int OTHER_HALF = REST == 0 ? 4 : 2;
__device__ inline Lane lane_at(const Shared& shared, int warp_n) {
  const int row = row_of(warp_n, 0), t = threadIdx.x % 4;
  const int first = REST == 0 ? row / 2 % 2 * OTHER_HALF + t : t % 2 * OTHER_HALF + t / 2;
  return {made_once(row), made_once(row * 2 * OTHER_HALF + first), made_once(row * 8 + row / 4 % 2 * 4 + t),
          WARPS_K == 1 ? group_operand(shared.stages[0].x) : GroupOperand()};
}

// The lane's words of row g + `further`, a multiple of 8: of the neighbours along k that it multiplies,
// 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of each plane.
__device__ inline RowWords words_for_wgmma(const uint4* words, const Lane& lane, int further) {
  const bool is_swapped = lane.first & OTHER_HALF;
  RowWords own;
  #pragma unroll
  for (int i = 0; i < FOURS; ++i) {
    const uint4* fours = &words[(i * BLOCK_N + further) * 4];
    if (REST == 0) {
      const uint2* twos = reinterpret_cast<const uint2*>(fours);
      const uint2 first = twos[lane.first], then = twos[lane.first ^ OTHER_HALF];
      const uint2 lower = is_swapped ? then : first, upper = is_swapped ? first : then;
      own.fours[i] = make_uint4(lower.x, lower.y, upper.x, upper.y);
    } else {
      const uint4 first = fours[lane.first], then = fours[lane.first ^ OTHER_HALF];
      own.fours[i] = is_swapped ? make_uint4(then.y, first.y, then.w, first.w)
                                : make_uint4(first.x, then.x, first.z, then.z);
    }
  }
  if (REGISTERS % 4 == 2) {
    const uint4* last = &words[FOURS * BLOCK_N * 4 + further * 2];
    const uint32_t* ones = reinterpret_cast<const uint32_t*>(last);
    const uint32_t first = ones[lane.ones], then = ones[lane.ones ^ 4];
    own.two = lane.ones & 4 ? make_uint2(then, first) : make_uint2(first, then);
  }
  return own;
}

// By which rows g and g + 8 of W, in the two halves of each, make weights of codes:
// scale * (code - base) + shift.
struct Scaling {
  half2 base, scale, shift;
};

// Half cannot hold zero * scale to the last digit: all weights of a group would be off by as much. So
// base has the whole part of the zero, which comes off a code exactly; shift has the rest of it.
template <typename Scale, typename Zero>
__device__ inline Scaling scaling_of(const Scale* scales, const Zero* zeros) {
  float base[2], scale[2], shift[2];
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    scale[i] = HAS_SCALES ? static_cast<float>(scales[i * 8]) : 1.0f;
    const float zero = HAS_ZEROS ? static_cast<float>(zeros[i * 8]) : 0.0f;
    const float whole = MODE == FMA ? 0.0f : rintf(zero);
    base[i] = OFFSET + whole;
    shift[i] = MODE == FMA ? zero : (whole - zero) * scale[i];
  }
  return {__floats2half2_rn(base[0], base[1]), __floats2half2_rn(scale[0], scale[1]),
          __floats2half2_rn(shift[0], shift[1])};
}
// The same of halves, in fewer instructions. Here base is rounded to as few digits as half has beside
// OFFSET, and half has digits for what that loses, too.
__device__ inline Scaling scaling_of(const half* scales, const half* zeros) {
  const half2 offset = __float2half2_rn(OFFSET), none = __float2half2_rn(0.0f);
  const half2 large = OFFSET == 0.0f ? __float2half2_rn(1024.0f) : offset;
  const half2 scale = HAS_SCALES ? __halves2half2(scales[0], scales[8]) : __float2half2_rn(1.0f);
  const half2 zero = HAS_ZEROS ? __halves2half2(zeros[0], zeros[8]) : none;
  if (MODE == FMA) return {offset, scale, zero};
  const half2 rounded = __hadd2_rn(large, zero), taken = __hsub2_rn(rounded, large);
  const half2 base = OFFSET == 0.0f ? taken : rounded;
  return {base, scale, __hmul2_rn(__hsub2_rn(taken, zero), scale)};
}

__device__ inline half2 in_both(half2 pair, int i) {
  return i == 0 ? __low2half2(pair) : __high2half2(pair);
}

// i: 0 for codes of row g, 1 for codes of row g + 8.
__device__ inline half2 weights_of(half2 codes, const Scaling& by, int i) {
  const half2 base = in_both(by.base, i), scale = in_both(by.scale, i), shift = in_both(by.shift, i);
  if (OFFSET != 0.0f || (HAS_ZEROS && MODE != FMA)) codes = __hsub2(codes, base);
  if (!HAS_SCALES) return HAS_ZEROS ? __hadd2(codes, shift) : codes;
  return HAS_ZEROS ? __hfma2(codes, scale, shift) : __hmul2(codes, scale);
}

// Steps by which products lag behind. One, where a stage is left to be filled beside the two that a
// group holds then.
constexpr int LAG = STAGES >= 3 * WARPS_K ? 1 : 0;
static_assert(PRODUCTS % BUFFERS == 0, "in every step a product has the same buffer");

// Adds a step's share to totals. Weights are made while wgmma is at work with those before them.
__device__ inline void add_step(const Stage& from, int stage, Lane& lane, Totals& totals) {
  RowWords words[TILES * 2];
  #pragma unroll
  for (int i = 0; i < TILES * 2; ++i) words[i] = words_for_wgmma(from.words, lane, i * 8);
  const GroupOperand x =
      WARPS_K == 1 ? lane.x + stage * (sizeof(Stage) / 16) : group_operand(from.x);
  Scaling by[TILES] = {};
  #pragma unroll
  for (int product = 0; product < PRODUCTS; ++product) {
    const int plane = product / TILES, tile = product % TILES, part = plane * PLANE / PART;
    if (plane * PLANE % PART == 0) {
      const int row = lane.row + tile * 16;
      by[tile] = scaling_of(&from.scales[part][row], &from.zeros[part][row]);
    }
    half2* weights = lane.weights[product % BUFFERS];
    half2 codes[4];
    dequant_plane(&words[tile * 2], plane, codes);
    group_wait<BUFFERS - 1>();
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      group_hold(weights[i]);
      weights[i] = weights_of(codes[i], by[tile], i % 2);
    }
    group_fence();
    group_multiply_add<ROWS>(totals[tile], weights, x, plane);
    group_commit();
  }
  if (LAG == 0) group_wait<0>();
}

// Waits for all products.
__device__ inline void settle(Totals& totals) {
  group_wait<0>();
  #pragma unroll
  for (int i = 0; i < TILES * COLUMNS * 4; ++i) {
    group_hold(totals[i / (COLUMNS * 4)][i / 4 % COLUMNS][i % 4]);
  }
}
