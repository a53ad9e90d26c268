// The skeleton of the product for batches: y^T = W x^T on tensor cores. Over the groups i of k, before
// y is finished with whatever is there of the last three,
//
//   y[m, n] = sum of scales[i, n] * (W_q[n, k] - zeros[i, n]) * x[m, k]
//
//   x_image        x (M, K) half as arrange_for_mma.cu (16 ROWS) or arrange_for_wgmma.cu makes it
//   W_packed       (N, K)       (tiles, N, 16) words: packing/plane_tiles.py; N a multiple of 8
//   scales, zeros  (groups, N)  SCALE_T, ZERO_T; a MODE without one leaves it out
//   levels         (count)      float, null if the text in prepare_pairs takes none
//   y              (M, N)       Y_T: * channel_scales (N) CHANNEL_T * token_scales (M) + bias (N) BIAS_T
//
// Grid: clusters of SPLITS = 1, 2 or 4 blocks for the tiles of y, ROWS x BLOCK_N. Of the first
// `whole_clusters` every block takes a tile; the blocks of each after them share out K for one, and
// add up what they have. WARPS_K groups of WARPS_N warps take turns in the steps of TILE_K along K, of
// which each warp multiplies 16 * TILES rows of W; two more warps bring what they need.
// claim: shared_bytes conflict-free
#pragma once
#include <cuda_bf16.h>

#include "cluster.cuh"
#include "copies.cuh"
#include "levels.cuh"
#include "tensor_core.cuh"
#include "weight_modes.cuh"

constexpr int PLANE = 16, PLANES = 32 / W_NBITS, TILE_K = PLANES * PLANE;
constexpr int FIELDS = PLANES / 2;                                 // codes of a half of a pair
constexpr int PART = GROUP_SIZE < TILE_K ? GROUP_SIZE : TILE_K;    // of a step, with one scale
constexpr int PARTS = TILE_K / PART, STEPS_PER_GROUP = GROUP_SIZE / PART;
constexpr int WORKERS = WARPS_N * WARPS_K, THREADS = (WORKERS + 2) * WARP_SIZE;
constexpr int BLOCK_N = 16 * TILES * WARPS_N, COLUMNS = ROWS / 8;  // tensor-core columns of y^T
constexpr float OFFSET = offset_of(0);
static_assert(offset_of(FIELDS - 1) == OFFSET, "an offset that is the same for all fields");

// What this block adds up: a tile of y, over all steps along K or some.
struct Share {
  int first_n, rows, row_block, first_step, steps, split;
  bool is_split;
};

__device__ inline Share own_share(int whole_clusters, int M, int N, int K) {
  const int block = blockIdx.x, cluster = block / SPLITS, columns = ceil_div(N, BLOCK_N);
  const bool is_split = SPLITS > 1 && cluster >= whole_clusters;
  const int tile = is_split ? cluster + whole_clusters * (SPLITS - 1) : block;
  const int row_block = M > ROWS ? tile / columns : 0;  // to divide takes its time
  const int first_n = (tile - row_block * columns) * BLOCK_N, rows = min(BLOCK_N, N - first_n);
  const int all = K / TILE_K, split = is_split ? block % SPLITS : 0;
  const int first = all * split / SPLITS, end = is_split ? all * (split + 1) / SPLITS : all;
  return {first_n, rows, row_block, first, end - first, split, is_split};
}

// A lane's sums: of rows of W (tile, j / 2) and rows of x (column, 2 t + j % 2); tensor_core.cuh.
using Totals = float[TILES][COLUMNS][4];

#include "gemm_fast_stages.cuh"
#include "gemm_fast_words.cuh"
#if ROWS == 16
#include "gemm_fast_mma.cuh"
#else
#include "gemm_fast_wgmma.cuh"
#endif
#include "gemm_fast_finish.cuh"

__global__ void __launch_bounds__(THREADS, 1)
gemm(const unsigned char* x_image, const uint4* W_packed, const SCALE_T* scales,
     const ZERO_T* zeros, const CHANNEL_T* channel_scales, const float* token_scales,
     const BIAS_T* bias, const float* levels, Y_T* y, int M, int N, int K, int whole_clusters) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
  const int warp_id = threadIdx.x / WARP_SIZE, lane_id = threadIdx.x % WARP_SIZE;
  const Share own = own_share(whole_clusters, M, N, K);
  if (warp_id == WORKERS && lane_id == 0) make_barriers(shared);
  if (own.rows < BLOCK_N) clear_rows(shared, own.rows);
  const auto place = prepare_with(prepare_pairs, levels);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  finish_with(place);
  let_next_kernel_begin();
  if (HAS_OWN_ROOM && own.is_split) cluster_arrive();

  Totals totals = {};
  Pending pending;
  const int group = warp_id / WARPS_N, warp_n = warp_id % WARPS_N * (16 * TILES);
  if (warp_id == WORKERS) {
    if (lane_id == 0) bring_weights(shared, own, W_packed, scales, zeros, N);
  } else if (warp_id == WORKERS + 1) {
    if (lane_id == 0) bring_x(shared, own, x_image, K);
  } else {
    for (int step = group; step < own.steps; step += WARPS_K) {
      const int stage = step % STAGES;
      barrier_wait(&shared.full[stage], step / STAGES);
      add_step(shared.stages[stage], warp_n, totals, pending);
      const int done = step - LAG * WARPS_K;
      if (done >= 0) barrier_arrive(&shared.empty[done % STAGES]);
    }
    settle(totals);
  }
  __syncwarp();
  const Output to = {channel_scales, token_scales, bias, y, M, N};
  if (own.is_split) {
    if (!HAS_OWN_ROOM) cluster_arrive();
    cluster_wait();
    if (warp_id < WORKERS) hand_out<SPLITS>(shared, own, totals, group, warp_n);
    cluster_arrive();
    cluster_wait();
    finish<SPLITS>(shared, own, to);
  } else {
    __syncthreads();
    if (warp_id < WORKERS) hand_out<1>(shared, own, totals, group, warp_n);
    __syncthreads();
    finish<1>(shared, own, to);
  }
}
