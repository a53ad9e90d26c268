// The part of gemm_fast.cuh for a tile of y that SPLITS blocks share out along K: a single block, or those
// of a cluster. Each hands the sums of row m of the tile to block m % SPLITS, which finishes that row.
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
    float* sums = shared.room_over(0);
    if (SPLITS > 1) sums = in_block(sums, m % SPLITS);
    #pragma unroll
    for (int j = 0; j < TILES * 2; ++j) {
      sums[place * SUM_STRIDE + row_of(own.warp_n, j)] = totals[j / 2][i / 2][j % 2 * 2 + i % 2];
    }
  }
}

// A barrier in two halves: of all threads of a cluster, or else of a block's workers. Behind `wait` a
// thread sees what the others wrote before `arrive`; behind `arrive_unordered` and `wait` it knows only
// that they have begun.
__device__ inline void arrive() {
  if (SPLITS > 1) cluster_arrive();
}
__device__ inline void arrive_unordered() {
  if (SPLITS > 1) cluster_arrive_unordered();
}
__device__ inline void wait() {
  if (SPLITS > 1) {
    cluster_wait();
  } else {
    meet<WORKER_THREADS>();
  }
}

// Before it, stages may lie where the room is, or another block of the cluster may not have begun.
__device__ inline void wait_for_room() {
  if (OWN_ROWS == 0) arrive();
  wait();
}
__device__ inline void wait_for_sums() {
  arrive();
  wait();
}

__device__ inline void bring(Shared& shared, Range own, const Problem& of, const Operands& from) {
  if (is_bringer_of_weights()) bring_weights(shared, own, of, from);
  if (is_bringer(OF_X)) bring_x(shared, own, of, from.x_image);
  if (SPLITS == 1) return;
  __syncwarp();
  wait_for_room();
  wait_for_sums();
}

__device__ inline void work(Shared& shared, Range own, const Problem& of, const Output& to) {
  Totals totals = {};
  add_part(shared, 0, own.end - own.first, NO_STEP, own_worker(), totals);
  wait_for_room();
  hand_out(shared, totals, own_worker());
  wait_for_sums();
  const Part part = part_in(blockIdx.x / SPLITS, own, of);
  const int split = blockIdx.x % SPLITS;
  finish<SPLITS * WARPS_K, ROWS / SPLITS>(shared.room_over(0), part, split, SPLITS, to);
}

// All threads of a block call it.
__device__ inline void multiply(Shared& shared, Range own, const Problem& of, const Operands& from,
                                const Output& to) {
  if (OWN_ROWS > 0) arrive_unordered();
  if (is_worker()) {
    if (NEED_MORE) take_registers<MORE_REGISTERS>();
    work(shared, own, of, to);
  } else {
    if (NEED_MORE) give_registers<FEW_REGISTERS>();
    bring(shared, own, of, from);
  }
}
