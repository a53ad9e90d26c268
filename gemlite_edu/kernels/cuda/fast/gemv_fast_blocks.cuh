// The part of a GEMV at the memory limit that is the same for all weights: blocks that stay, with x
// in shared memory, a stream of steps for each of their warps, and y. Before it come PLANES, STEP,
// PARTS, THREADS, TILE_N, gemv_fast_x.cuh, and
//
//   Words, Step, load_step  what a lane reads of TILE_N outputs in a step, STEP along k
//   bring_step              has L2 bring a step's words
//   prepare_hole            hands the levels, null if there are none, to a text that prepares a table:
//                           what it returns is for finish_before_x
//   XPart, prepare_x        what is to be known of x in a part of a step, and what finds it out
//   Totals, add_step        what a lane adds up of its outputs, and a step's share of it
//   hand_in                 writes totals to a warp's (TILE_N, ROWS) in shared memory, and clears them
//
// Grid (blocks, ceil(M / ROWS)), blocks <= tiles of TILE_N outputs: of them a block takes every
// gridDim.x-th. Its warps, WARPS <= steps, take turns in the steps of its tiles. What they add up
// meets in shared memory at the end.
#pragma once
#include "early.cuh"
#include "levels.cuh"

// Makes a table of the levels, while x, whose copies are one batch behind theirs, is on its way. All
// threads of a block call it; the table is there for them after their next __syncthreads.
template <typename Place>
__device__ inline void finish_before_x(Place place) {
  if constexpr (Finishes<Place>::value) {
    __pipeline_wait_prior(1);
    __syncthreads();
    finish_pairs(place);
  }
}

__global__ void __launch_bounds__(THREADS)
gemv(const X_T* x, const Words* W_packed, const SCALE_T* scales, const ZERO_T* zeros,
     const CHANNEL_T* channel_scales, const float* token_scales, const BIAS_T* bias,
     const float* levels, Y_T* y, int M, int N, int K) {
  extern __shared__ uint4 x_shared[];  // then x_parts and partial
  const int steps = ceil_div(K, STEP), first_m = blockIdx.y * ROWS;
  XPart* x_parts = reinterpret_cast<XPart*>(&x_shared[steps * PLANES * ROWS * 2]);
  float* partial = reinterpret_cast<float*>(&x_parts[steps * PARTS * ROWS]);
  const int warp_id = threadIdx.x / WARP_SIZE, g = threadIdx.x % WARP_SIZE / 4, t = threadIdx.x % 4;
  const int tiles = ceil_div(N, TILE_N), blocks = gridDim.x, block = blockIdx.x;

  let_next_kernel_begin();
  bring_step(W_packed, N, steps, block * TILE_N, warp_id);
  wait_for_kernel_before();
  const auto place = prepare_hole(levels);  // behind x or weights the levels would come late
  fetch_x(x + static_cast<size_t>(first_m) * K, x_shared, M - first_m, K, steps * STEP);
  int tile = block, step = warp_id;
  Step next = load_step(W_packed, scales, zeros, N, steps, tile * TILE_N, step);
  finish_before_x(place);  // if the codes are looked up
  prepare_x(x_shared, x_parts, steps * STEP);
  __syncthreads();

  float* own_partial = &partial[warp_id * TILE_N * ROWS];
  Totals totals = {};
  #pragma unroll 2
  while (tile < tiles) {
    const Step now = next;
    const int own_tile = tile, own_step = step;
    step += WARPS;
    if (step >= steps) step -= steps, tile += blocks;
    if (tile < tiles) {  // the next step is on its way while this one is used
      next = load_step(W_packed, scales, zeros, N, steps, tile * TILE_N, step);
    }
    const int lane_x = (own_step * PLANES * ROWS + g % ROWS) * 32 + t * 8;
    add_step(now, x_shared, lane_x, &x_parts[own_step * (PARTS * ROWS)], totals);
    if (tile == own_tile) continue;
    hand_in(totals, own_partial);  // this warp is through with the tile
    own_partial += WARPS * TILE_N * ROWS;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < ceil_div(tiles - block, blocks) * TILE_N * ROWS; i += THREADS) {
    const int tile = i / (TILE_N * ROWS), inside = i % (TILE_N * ROWS), m = first_m + inside % ROWS;
    const int n = (block + tile * blocks) * TILE_N + inside / ROWS;
    if (m >= M || n >= N) continue;
    float sum = 0.0f;
    #pragma unroll
    for (int warp = 0; warp < WARPS; ++warp) {
      sum += partial[(tile * WARPS + warp) * TILE_N * ROWS + inside];
    }
    if (channel_scales) sum *= static_cast<float>(channel_scales[n]);
    if (token_scales) sum *= token_scales[m];
    if (bias) sum += static_cast<float>(bias[n]);
    y[static_cast<size_t>(m) * N + n] = static_cast<Y_T>(sum);
  }
}
