// The part of gemm_fast.cuh that multiplies, for 32 rows of x and more: weights are made in half,
// with their scales and zeros, and go to wgmma from registers; x it finds in shared memory itself.
#pragma once
#include "wgmma_f16.cuh"

// For bindings.cu: the second parameter, x, is a map. sizes: M, N and K.
#define MAPPED_PARAMETER 1
#ifdef __CUDACC__
inline cudaError_t map_parameter(RowMap& map, int64_t x, const int64_t* sizes) {
  return map_rows<ROWS>(map, x, sizes[0], sizes[2]);
}
#endif

static_assert(TILES == 1 && WARPS_N % 4 == 0, "four warps make 64 rows of W for a wgmma");
static_assert(TILE_K % BOX_K == 0 && ROWS % 8 == 0 && ROWS <= 256, "a step of x is whole boxes");
constexpr int BUFFERS = ROWS == 128 && WORKERS == 16 ? 2 : 4;  // planes that wgmma reads at once

__device__ inline void bring_rows(uint4* to, const Operands& from, int row_block, int place,
                                  const Problem& of, uint64_t* full) {
  barrier_arrive_expecting(full, X_BYTES);
  #pragma unroll
  for (int i = 0; i < TILE_K; i += BOX_K) {
    const Box box = {row_block * ROWS, place * TILE_K + i, of.M, of.steps * TILE_K};
    copy_box<ROWS>(&to[i / BOX_K * BOX_PIECES * ROWS], *from.x, box, full);
  }
}

// The lane's words of a row, of the neighbours along k that it multiplies: 2 t, 2 t + 1, 2 t + 8 and
// 2 t + 9 of each plane.
__device__ inline RowWords words_for_wgmma(const uint4* words, int row) {
  const int t = threadIdx.x % 4;
  RowWords own;
  #pragma unroll
  for (int i = 0; i < FOURS; ++i) {
    const uint4* four = &words[(i * BLOCK_N + row) * 4];
    if (REST == 0) {
      // Lanes of rows 2 and 3 of every four read the upper half first, so that no banks conflict.
      const int last = row / 2 % 2;
      const uint2* twos = reinterpret_cast<const uint2*>(four);
      const uint2 first_read = twos[last * 4 + t], then_read = twos[(1 - last) * 4 + t];
      const uint2 lower = last ? then_read : first_read, upper = last ? first_read : then_read;
      own.fours[i] = make_uint4(lower.x, lower.y, upper.x, upper.y);
    } else {
      const int is_odd = t % 2;  // odd lanes read the upper word first, for the same reason
      const uint4 first = four[is_odd * 2 + t / 2], second = four[(1 - is_odd) * 2 + t / 2];
      own.fours[i] = is_odd ? make_uint4(second.y, first.y, second.w, first.w)
                            : make_uint4(first.x, second.x, first.z, second.z);
    }
  }
  if (REGISTERS % 4 == 2) {
    const uint32_t* ones = reinterpret_cast<const uint32_t*>(&words[FOURS * BLOCK_N * 4 + row * 2]);
    const int last = row / 4 % 2;
    const uint32_t first_read = ones[last * 4 + t], then_read = ones[(1 - last) * 4 + t];
    own.two = last ? make_uint2(then_read, first_read) : make_uint2(first_read, then_read);
  }
  return own;
}

// By which rows g and g + 8 of W make weights of codes: scale * (code - base) + shift.
struct Scaling {
  half2 base[2], scale[2], shift[2];
};

// Half cannot hold zero * scale to the last digit: all weights of a group would be off by as much.
// So base has the whole part of the zero, which comes off a code exactly; shift has the rest of it.
__device__ inline void load_scaling(const Stage& from, int part, int warp_n, Scaling& of) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = row_of(warp_n, i);
    const float scale = HAS_SCALES ? static_cast<float>(from.scales[part][row]) : 1.0f;
    const float zero = HAS_ZEROS ? static_cast<float>(from.zeros[part][row]) : 0.0f;
    const float whole = MODE == FMA ? 0.0f : rintf(zero);
    of.base[i] = __float2half2_rn(OFFSET + whole);
    of.scale[i] = __float2half2_rn(scale);
    of.shift[i] = __float2half2_rn(MODE == FMA ? zero : (whole - zero) * scale);
  }
}

__device__ inline half2 weights_of(half2 codes, half2 base, half2 scale, half2 shift) {
  if (OFFSET != 0.0f || (HAS_ZEROS && MODE != FMA)) codes = __hsub2(codes, base);
  if (!HAS_SCALES) return HAS_ZEROS ? __hadd2(codes, shift) : codes;
  return HAS_ZEROS ? __hfma2(codes, scale, shift) : __hmul2(codes, scale);
}

// What wgmma may still read when add_step returns.
struct Pending {
  half2 weights[BUFFERS][4];
};
// Steps by which products lag behind. One, where a stage is left to be filled beside the two that a
// group holds then.
constexpr int LAG = STAGES >= 3 * WARPS_K ? 1 : 0;
static_assert(PLANES % BUFFERS == 0, "in every step a plane has the same buffer");

// Adds a step's share to totals. Weights are made while wgmma is at work with those before them.
__device__ inline void add_step(const Stage& from, int warp_n, Totals& totals, Pending& pending) {
  RowWords words[2];
  #pragma unroll
  for (int i = 0; i < 2; ++i) words[i] = words_for_wgmma(from.words, row_of(warp_n, i));
  const GroupOperand x = group_operand(from.x);
  Scaling of;
  #pragma unroll
  for (int plane = 0; plane < PLANES; ++plane) {
    if (plane * PLANE % PART == 0) load_scaling(from, plane * PLANE / PART, warp_n, of);
    half2* weights = pending.weights[plane % BUFFERS];
    half2 codes[4];
    dequant_plane(words, plane, codes);
    group_wait<BUFFERS - 1>();
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      group_hold(weights[i]);
      weights[i] = weights_of(codes[i], of.base[i % 2], of.scale[i % 2], of.shift[i % 2]);
    }
    group_fence();
    group_multiply_add<ROWS>(totals[0], weights, x, plane);
    group_commit();
  }
  if (LAG == 0) group_wait<0>();
}

// Waits for all products.
__device__ inline void settle(Totals& totals) {
  group_wait<0>();
  #pragma unroll
  for (int i = 0; i < COLUMNS * 4; ++i) group_hold(totals[0][i / 4][i % 4]);
}
