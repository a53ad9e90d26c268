// The part of gemm_fast.cuh that multiplies, for 32 rows of x and more: weights are made in half,
// with their scales and zeros, and go to wgmma from registers; x it finds in shared memory itself.
#pragma once
#include "wgmma.cuh"

static_assert(TILES == 1 && WARPS_N % 4 == 0, "four warps make 64 rows of W for a wgmma");
constexpr int BUFFERS = ROWS == 256 ? 2 : 4;  // planes of weights that wgmma reads at once

// By which rows g and g + 8 of W make weights of codes.
struct Scaling {
  half2 scale[2], shift[2];
};

__device__ inline void load_scaling(const Stage& from, int part, int warp_n, Scaling& of) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = row_of(warp_n, i);
    const float scale = HAS_SCALES ? static_cast<float>(from.scales[part][row]) : 1.0f;
    const float zero = HAS_ZEROS ? static_cast<float>(from.zeros[part][row]) : 0.0f;
    of.scale[i] = __float2half2_rn(scale);
    of.shift[i] = __float2half2_rn(MODE == FMA ? zero : -zero * scale);
  }
}

__device__ inline half2 weights_of(half2 codes, half2 scale, half2 shift) {
  if (OFFSET != 0.0f) codes = __hsub2(codes, __float2half2_rn(OFFSET));
  if (!HAS_SCALES) return HAS_ZEROS ? __hadd2(codes, shift) : codes;
  return HAS_ZEROS ? __hfma2(codes, scale, shift) : __hmul2(codes, scale);
}

// Adds a step's share to totals. Weights of the planes to come are made while wgmma is at work.
__device__ inline void add_step(const Stage& from, int warp_n, Totals& totals) {
  Pairs pairs[2];
  load_pairs(from, warp_n, pairs);
  const GroupOperand x = group_operand(from.x);
  Scaling of;
  half2 weights[BUFFERS][4];
  #pragma unroll
  for (int plane = 0; plane < PLANES; ++plane) {
    if (plane * PLANE % PART == 0) load_scaling(from, plane * PLANE / PART, warp_n, of);
    half2* now = weights[plane % BUFFERS];
    dequant_plane(pairs, plane, now);
    #pragma unroll
    for (int i = 0; i < 4; ++i) now[i] = weights_of(now[i], of.scale[i % 2], of.shift[i % 2]);
    group_fence();
    group_multiply_add<ROWS>(totals[0], now, x + plane * 2 * ROWS);
    group_commit();
    if (plane < BUFFERS - 1 || plane == PLANES - 1) continue;
    group_wait<BUFFERS - 1>();
    #pragma unroll
    for (int i = 0; i < 4; ++i) group_hold(weights[(plane + 1) % BUFFERS][i]);
  }
  group_wait<0>();
  #pragma unroll
  for (int i = 0; i < COLUMNS * 4; ++i) group_hold(totals[0][i / 4][i % 4]);
}
