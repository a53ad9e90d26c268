// The part of gemm_fast.cuh for a tile of y that SPLITS blocks share out along K: a single block, or those
// of a cluster.
#pragma once
#include "gemm_fast_fours.cuh"

static_assert(OWN_ROWS > 0 || ROWS * ROW_SUMS * sizeof(float) <= sizeof(Stage[STAGES]),
              "sums fit where stages have been");

constexpr int NO_STEP = -1;

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
  if (is_bringer(OF_X)) bring_x(shared, own, of, from);
  if (SPLITS == 1) return;
  __syncwarp();
  wait_for_room();
  wait_for_sums();
}

__device__ inline void work(Shared& shared, Range own, const Problem& of, const Output& to) {
  Totals totals = {};
  add_part(shared, 0, own.end - own.first, NO_STEP, own_worker(), totals);
  wait_for_room();
  hand_out(shared.room_over(0), totals, own_worker());
  wait_for_sums();
  finish_share(shared.room_over(0), part_in(blockIdx.x / SPLITS, own, of), to);
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
