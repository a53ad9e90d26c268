// The skeleton of the product for batches: y^T = W x^T on tensor cores. Over the groups i of k, before
// y is finished with whatever is there of the last three,
//
//   y[m, n] = sum of scales[i, n] * (W_q[n, k] - zeros[i, n]) * x[m, k]
//
//   scratch        with 16 ROWS the image of x that arrange_for_mma.cu makes; with IS_EVEN the flags that
//                  lower_flags.cu lowers, and room for what blocks leave to each other; else null
//   x              (M, K)       half; with 16 ROWS the kernel reads its image instead
//   W_packed       (N, K)       words of packing/plane_tiles.py or piece_tiles.py; N a multiple of 8
//   scales, zeros  (groups, N)  SCALE_T, ZERO_T; a MODE without one leaves it out
//   levels         (count)      float, null if the text in prepare_pairs takes none
//   y              (M, N)       Y_T: * channel_scales (N) CHANNEL_T * token_scales (M) + bias (N) BIAS_T
//
// A tile of y has ROWS x BLOCK_N outputs, and K / TILE_K steps along K, which SPLITS blocks share out: a
// single one or a cluster (gemm_fast_tile.cuh), or, with IS_EVEN, blocks that leave sums to each other
// in global memory (gemm_fast_parts.cuh). With IS_EVEN and SPLITS = 1, the steps of all tiles form one
// row: each block takes an equal run of it, which may begin or end within a tile. WARPS_K
// groups of WARPS_N warps take turns in a block's steps, of which each warp multiplies 16 * TILES rows
// of W. A thread of each of three more warps brings what they need; a fourth tells what a block leaves,
// and makes them four, which registers.cuh asks for.
// claim: shared_bytes conflict-free
#pragma once
#include <cuda_bf16.h>

#include "cluster.cuh"
#include "copies.cuh"
#include "levels.cuh"
#include "meeting.cuh"
#include "once.cuh"
#include "registers.cuh"
#include "tensor_core.cuh"
#include "weight_modes.cuh"

constexpr int PLANE = 16;
constexpr int FIELDS = 16 / W_NBITS, REST = 16 % W_NBITS;          // codes of a half of a pair; bits left
constexpr int PLANES = (W_NBITS == 1 || REST ? 16 : 32) / (W_NBITS & -W_NBITS), TILE_K = PLANES * PLANE;
constexpr int PART = GROUP_SIZE < TILE_K ? GROUP_SIZE : TILE_K;    // of a step, with one scale
constexpr int PARTS = TILE_K / PART, STEPS_PER_GROUP = GROUP_SIZE / PART;
constexpr int WORKERS = WARPS_N * WARPS_K, WORKER_THREADS = WORKERS * WARP_SIZE;
constexpr int BRINGER_THREADS = 4 * WARP_SIZE, THREADS = WORKER_THREADS + BRINGER_THREADS;
constexpr int BLOCK_N = 16 * TILES * WARPS_N, COLUMNS = ROWS / 8;  // tensor-core columns of y^T
// Workers of a tile of 32768 outputs, and those with two tiles of W a warp, need more registers than all
// threads of a block can have alike.
constexpr bool NEED_MORE = ROWS * BLOCK_N == 32768 || TILES == 2;
constexpr int MORE_REGISTERS = WORKERS == 16 ? 112 : 232, FEW_REGISTERS = WORKERS == 16 ? 32 : 40;
constexpr int EVEN_REGISTERS = 65536 / THREADS / 8 * 8;
static_assert(WORKER_THREADS * MORE_REGISTERS + BRINGER_THREADS * FEW_REGISTERS ==
                      THREADS * EVEN_REGISTERS || !NEED_MORE, "workers take what bringers give");

// What a launch is asked for; row_blocks: of ROWS rows of x, the last one of what is left.
struct Problem {
  int M, N, steps, row_blocks;
};

// Steps that a block takes, counted over all tiles: of a tile one after the other, then of the next.
struct Range {
  int first, end;
};

__device__ inline Range range_of(int block, const Problem& of) {
  if (!IS_EVEN || SPLITS > 1) {
    const int tile = block / SPLITS, split = block % SPLITS, before = tile * of.steps;
    return {before + of.steps * split / SPLITS, before + of.steps * (split + 1) / SPLITS};
  }
  const int all = ceil_div(of.N, BLOCK_N) * of.row_blocks * of.steps, blocks = gridDim.x;
  const int share = all / blocks, longer = all % blocks;  // those take a step more
  const int first = block * share + min(block, longer);
  return {first, first + share + (block < longer)};
}

// The part of a range that is in one tile.
struct Part {
  int first_n, rows, row_block, first_step, steps;
};

// Tiles of the same rows of W are neighbours.
__device__ inline Part part_in(int tile, Range range, const Problem& of) {
  const int before = tile * of.steps, first = max(range.first, before);
  const int column = of.row_blocks > 1 ? tile / of.row_blocks : tile;  // to divide takes its time
  const int first_n = column * BLOCK_N, row_block = tile - column * of.row_blocks;
  return {first_n, min(BLOCK_N, of.N - first_n), row_block, first - before, range.end - first};
}

// The part in the last tile of what is left of a range. Blocks begin there: so what a block leaves to
// the next one, which finishes their common tile last, has long been there.
__device__ inline Part last_part(Range left, const Problem& of) {
  return part_in((left.end - 1) / of.steps, left, of);
}

// A lane's sums: of rows of W (tile, j / 2) and rows of x (column, 2 t + j % 2); tensor_core.cuh.
using Totals = float[TILES][COLUMNS][4];

#include "gemm_fast_words.cuh"
#include "gemm_fast_stages.cuh"
#if ROWS == 16
#include "gemm_fast_mma.cuh"
#else
#include "gemm_fast_wgmma.cuh"
#endif

__device__ inline bool is_worker() { return threadIdx.x < WORKER_THREADS; }

// A worker's warps: its group along K, and where its rows of W begin.
struct Worker {
  int group, warp_n;
};
__device__ inline Worker own_worker() {
  const int warp_id = threadIdx.x / WARP_SIZE;
  return {warp_id / WARPS_N, warp_id % WARPS_N * (16 * TILES)};
}

// Adds up the products of the block's steps begin to end - 1, of which each group takes its own. Gives
// back their stages but that of step `kept`. Whatever can be made before the loop is, since a step of few
// rows takes as long as the instructions that a scheduler issues for it.
__device__ inline void add_part(Shared& given, int begin, int end, int kept, Worker own,
                                Totals& totals) {
  Shared& shared = addressed_once(given);
  Lane lane = lane_at(given, own.warp_n);
  int step = first_of_group(begin, own.group);
  Turn turn = turn_of(step), last = turn;
  for (; step < end; step += WARPS_K) {
    add_step(full_stage(shared, turn), turn.stage, lane, totals);
    const int done = step - LAG * WARPS_K;
    if (done >= begin && done != kept) give_back(shared, LAG == 0 ? turn : last);
    last = turn;
    turn = turn.next();
  }
  settle(totals);
  const int left = step - WARPS_K;
  if (LAG == 1 && left >= begin && left != kept) give_back(shared, last);
}

#include "gemm_fast_finish.cuh"
#if IS_EVEN
#include "gemm_fast_parts.cuh"
#else
#include "gemm_fast_tile.cuh"
#endif

__global__ void __launch_bounds__(THREADS, 1)
gemm(unsigned char* scratch, const __grid_constant__ XRows x, const uint4* W_packed,
     const SCALE_T* scales, const ZERO_T* zeros, const CHANNEL_T* channel_scales,
     const float* token_scales, const BIAS_T* bias, const float* levels, Y_T* y, int M, int N, int K) {
  extern __shared__ __align__(STAGE_ALIGNMENT) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
  const Problem problem = {M, N, K / TILE_K, ceil_div(M, ROWS)};
  const Range own = range_of(blockIdx.x, problem);
  if (threadIdx.x == WORKER_THREADS) make_barriers(shared);
  clear_rows_beyond(shared, own, problem);
  const auto place = prepare_with(prepare_pairs, levels);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  finish_with(place);
  let_next_kernel_begin();
  multiply(shared, own, problem, {W_packed, scales, zeros, &x, scratch},
           {channel_scales, token_scales, bias, y, M, N});
}
