// The skeleton of the product for up to 64 rows: y^T = W x^T by mma.sync, for ROWS = 16, 32 or 64 rows
// of x at once, of which each weight is decoded once. Over the groups i of k, before y is finished
// with whatever is there of the last three,
//
//   y[m, n] = sum of scales[i, n] * (sum of W_q[n, k] * x[m, k] - zeros[i, n] * sum of x[m, k])
//
// Operands are those of gemv_fast.cuh; y is (splits, M, N), of which each split has the sums of its
// own steps along K: with more than one, Y_T is float, and add_splits.cu finishes.
//
// Grid (tiles of BLOCK_N outputs * splits, ceil(M / ROWS)). All threads of a block bring the next
// STAGES - 1 steps, STEP along k, to shared memory; WARPS warps multiply 16 * TILES rows of W each.
// Lane 4 g + t has rows g and g + 8 of every 16, and the codes 4 t to 4 t + 3 of every 16 along k.
// claim: shared_bytes conflict-free
#pragma once
#include "tensor_core.cuh"

constexpr int PLANE = 16;                                  // k of one multiply_add
constexpr int FIELDS = 16 / W_NBITS, REST = 16 % W_NBITS;  // codes of a half of a pair; bits left
constexpr int PLANES = (W_NBITS == 1 || REST ? 16 : 32) / (W_NBITS & -W_NBITS), STEP = PLANES * PLANE;
constexpr bool has_offsets(int f) {
  return f < FIELDS && (offset_of(f) != 0.0f || has_offsets(f + 1));
}
constexpr bool OFFSETS = has_offsets(0);
constexpr int PART = GROUP_SIZE < STEP ? GROUP_SIZE : STEP;  // of a step, with one scale
constexpr int PARTS = STEP / PART, STEPS_PER_GROUP = GROUP_SIZE / PART;
constexpr int THREADS = WARPS * WARP_SIZE, BLOCK_N = 16 * TILES * WARPS;
constexpr int COLUMNS = ROWS / 8;  // tensor-core columns of y^T

#include "words_of_rows.cuh"
#include "gemv_fast_sums.cuh"
#include "weight_modes.cuh"

#include "gemm_mma_stages.cuh"

// A lane's sums: of rows of W (tile, j / 2) and rows of x (column, 2 t + j % 2); tensor_core.cuh.
using Totals = float[TILES][COLUMNS][4];

// Adds to totals what a part's dot products with codes come to, with scales and zeros.
__device__ inline void add_part(const Stage& from, int part, int warp_n, const Totals& dots,
                                Totals& totals) {
  float scales[TILES * 2], zeros[TILES * 2];
  #pragma unroll
  for (int i = 0; i < TILES * 2; ++i) {
    const int row = row_of(warp_n, i);
    scales[i] = HAS_SCALES ? static_cast<float>(from.scales[part][row]) : 1.0f;
    zeros[i] = HAS_ZEROS ? static_cast<float>(from.zeros[part][row]) : 0.0f;
  }
  #pragma unroll
  for (int c = 0; c < COLUMNS * 2; ++c) {
    const int m = c / 2 * 8 + threadIdx.x % 4 * 2 + c % 2;
    const XPart sums = from.x_parts[part][m];
    #pragma unroll
    for (int i = 0; i < TILES * 2; ++i) {
      float dot = dots[i / 2][c / 2][i % 2 * 2 + c % 2];
      if (OFFSETS) dot -= offsets_of(sums);
      if (HAS_ZEROS && MODE != FMA) dot -= zeros[i] * sum_of(sums);
      const float product = scales[i] * dot + (MODE == FMA ? zeros[i] * sum_of(sums) : 0.0f);
      totals[i / 2][c / 2][i % 2 * 2 + c % 2] += power_of(sums) * product;
    }
  }
}

// Adds a step's share to totals.
__device__ inline void add_step(const Stage& from, int warp_n, Totals& totals) {
  const int lane_x = threadIdx.x % WARP_SIZE / 4 * 32 + threadIdx.x % 4 * 8;
  RowWords words[TILES * 2];
  #pragma unroll
  for (int i = 0; i < TILES * 2; ++i) {
    words[i] = words_of(from.words, BLOCK_N, row_of(warp_n, i));
  }
  #pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    Totals dots = {};
    #pragma unroll
    for (int plane = part * (PART / PLANE); plane < (part + 1) * (PART / PLANE); ++plane) {
      half2 codes[TILES][4];
      #pragma unroll
      for (int i = 0; i < TILES * 4; ++i) {
        const uint32_t pairs = pairs_of(words[i / 4 * 2 + i % 2], plane, i / 2 % 2);
        codes[i / 4][i % 4] = dequant_pair(pairs, field_of(plane));
      }
      #pragma unroll
      for (int c = 0; c < COLUMNS; ++c) {
        const uint2 met = met_x(from.x, lane_x + c * 8 * 32, plane);
        #pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
          multiply_add(dots[tile][c], codes[tile][0], codes[tile][1], codes[tile][2],
                       codes[tile][3], met.x, met.y);
        }
      }
    }
    add_part(from, part, warp_n, dots, totals);
  }
}

__global__ void __launch_bounds__(THREADS)
gemm(const X_T* x, const Words* W_packed, const SCALE_T* scales, const ZERO_T* zeros,
     const CHANNEL_T* channel_scales, const float* token_scales, const BIAS_T* bias,
     const float* levels, Y_T* y, int M, int N, int K, int splits) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  Stage* stages = reinterpret_cast<Stage*>(shared_bytes);
  const int first_m = blockIdx.y * ROWS, first_n = blockIdx.x / splits * BLOCK_N;
  const int split = blockIdx.x % splits, all = ceil_div(K, STEP), first = all * split / splits;
  const int steps = all * (split + 1) / splits - first, warp_n = threadIdx.x / WARP_SIZE * 16 * TILES;
  const Source from = {x + static_cast<size_t>(first_m) * K, W_packed, scales, zeros, M - first_m,
                       N, K, first_n};
  const auto place = prepare_hole(levels);
  for (int step = 0; step < STAGES - 1; ++step) {
    if (step < steps) fetch(from, first + step, stages[step]);
    __pipeline_commit();
  }
  __pipeline_wait_prior(STAGES - 1);
  __syncthreads();
  finish_with(place);

  Totals totals = {};
  for (int step = 0; step < steps; ++step) {
    Stage& now = stages[step % STAGES];
    __pipeline_wait_prior(STAGES - 2);
    prepare_step(now);
    __syncthreads();  // and nobody needs the stage before this one any more
    const int ahead = step + STAGES - 1;
    if (ahead < steps) fetch(from, first + ahead, stages[ahead % STAGES]);
    __pipeline_commit();
    add_step(now, warp_n, totals);
  }
  #pragma unroll
  for (int i = 0; i < COLUMNS * 2 * TILES * 2; ++i) {
    const int c = i / (TILES * 2), row = i % (TILES * 2), n = first_n + row_of(warp_n, row);
    const int m = first_m + c / 2 * 8 + threadIdx.x % 4 * 2 + c % 2;
    if (m >= M || n >= N) continue;
    float sum = totals[row / 2][c / 2][row % 2 * 2 + c % 2];
    if (channel_scales) sum *= static_cast<float>(channel_scales[n]);
    if (token_scales) sum *= token_scales[m];
    if (bias) sum += static_cast<float>(bias[n]);
    y[(static_cast<size_t>(split) * M + m) * N + n] = static_cast<Y_T>(sum);
  }
}
