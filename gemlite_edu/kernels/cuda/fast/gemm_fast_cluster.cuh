// The part of gemm_fast.cuh for SPLITS = 2 or 4: the blocks of a cluster share out a tile along K. Each
// hands the sums of row m of the tile to block m % SPLITS, which finishes that row.
#pragma once

static_assert(OWN_ROWS > 0 || ROWS * ROW_SUMS * sizeof(float) <= sizeof(Stage[STAGES]),
              "sums fit where stages have been");

constexpr int NO_STEP = -1;

// In a block, of the groups of all blocks: (SPLITS * WARPS_K, ROWS / SPLITS, SUM_STRIDE).
__device__ inline void hand_out(Shared& shared, const Totals& totals, Worker own) {
  const int giver = blockIdx.x % SPLITS * WARPS_K + own.group, t = threadIdx.x % 4;
  #pragma unroll
  for (int i = 0; i < COLUMNS * 2; ++i) {
    const int m = i / 2 * 8 + 2 * t + i % 2, place = giver * (ROWS / SPLITS) + m / SPLITS;
    float* sums = in_block(shared.room_over(0), m % SPLITS);
    #pragma unroll
    for (int j = 0; j < TILES * 2; ++j) {
      sums[place * SUM_STRIDE + row_of(own.warp_n, j)] = totals[j / 2][i / 2][j % 2 * 2 + i % 2];
    }
  }
}

// All threads of a block call it.
__device__ inline void multiply(Shared& shared, Range own, const Problem& of, const Operands& from,
                                const Output& to) {
  const bool is_worker = threadIdx.x < WORKER_THREADS;
  const int split = blockIdx.x % SPLITS;
  if (OWN_ROWS > 0) cluster_arrive();
  if (is_bringer(OF_WORDS)) bring_words(shared, own, of, from.W_packed);
  if (is_bringer(OF_SCALES)) bring_scales(shared, own, of, from.scales, from.zeros);
  if (is_bringer(OF_X)) bring_x(shared, own, of, from.x_image);
  Totals totals = {};
  if (is_worker) add_part(shared, 0, own.end - own.first, NO_STEP, own_worker(), totals);
  __syncwarp();
  if (OWN_ROWS == 0) cluster_arrive();
  cluster_wait();
  if (is_worker) hand_out(shared, totals, own_worker());
  cluster_arrive();
  cluster_wait();
  if (!is_worker) return;
  const Part part = part_in(blockIdx.x / SPLITS, own, of);
  finish<SPLITS * WARPS_K, ROWS / SPLITS>(shared.room_over(0), part, split, SPLITS, to);
}
