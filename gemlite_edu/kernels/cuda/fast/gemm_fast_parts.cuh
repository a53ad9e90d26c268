// The part of gemm_fast.cuh for IS_EVEN: a block takes the parts of its range one after the other,
// and finishes the tiles that they end.
#pragma once
#include "gemm_fast_left.cuh"

// Rows of a tile whose sums have room at once.
constexpr int room_rows() {
  int rows = OWN_ROWS > 0 ? OWN_ROWS : ROWS;
  while (OWN_ROWS == 0 && rows * ROW_SUMS * sizeof(float) > sizeof(Stage)) rows /= 2;
  return rows;
}
constexpr int ROOM_ROWS = room_rows();
static_assert(ROOM_ROWS % 8 == 0, "whole columns of the tensor core");

// Writes the sums of ROOM_ROWS rows of x, from `first` on, to the room (WARPS_K, ROOM_ROWS, SUM_STRIDE).
__device__ inline void write_sums(float* room, int first, const Totals& totals, Worker own) {
  #pragma unroll
  for (int i = 0; i < ROOM_ROWS / 4; ++i) {
    const int place = own.group * ROOM_ROWS + i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2;
    #pragma unroll
    for (int j = 0; j < TILES * 2; ++j) {
      const float* four = totals[j / 2][first / 8 + i / 2];
      room[place * SUM_STRIDE + row_of(own.warp_n, j)] = four[j % 2 * 2 + i % 2];
    }
  }
}

// Workers finish the rows of a tile from `first` on, whose sums lie in the room.
__device__ inline void finish_rows(const float* room, int first, const Part& part, const Output& to) {
  constexpr int FOURS_OF_A_ROW = BLOCK_N / 4;
  const int column = threadIdx.x % FOURS_OF_A_ROW * 4, n = part.first_n + column;
  if (n >= to.N) return;
  const Columns<4> columns(to, n);
  const int first_m = part.row_block * ROWS + first;
  #pragma unroll 4
  for (int row = threadIdx.x / FOURS_OF_A_ROW; row < ROOM_ROWS;
       row += WORKER_THREADS / FOURS_OF_A_ROW) {
    if (first_m + row >= to.M) break;
    float sums[4] = {};
    #pragma unroll
    for (int group = 0; group < WARPS_K; ++group) {
      const float* from = &room[(group * ROOM_ROWS + row) * SUM_STRIDE + column];
      const float4 given = *reinterpret_cast<const float4*>(from);
      sums[0] += given.x, sums[1] += given.y, sums[2] += given.z, sums[3] += given.w;
    }
    columns.write(sums, first_m + row);
  }
}

__device__ inline void finish_tile(float4* fours, const Part& part, const Totals& totals,
                                   const Output& to, Worker own) {
  float* room = reinterpret_cast<float*>(fours);
  #pragma unroll
  for (int first = 0; first < ROWS; first += ROOM_ROWS) {
    meet<WORKER_THREADS>();
    write_sums(room, first, totals, own);
    meet<WORKER_THREADS>();
    finish_rows(room, first, part, to);
  }
  let_copies_follow();
  meet<WORKER_THREADS>();
}

// All workers of a block call it.
__device__ inline void multiply_parts(Shared& shared, Range range, const Problem& of,
                                      const LeftSums& left_sums, int givers, const Output& to) {
  const Worker own = own_worker();
  Part part;
  int begin = 0;
  for (Range left = range; left.first < left.end; left.end -= part.steps, begin += part.steps) {
    part = last_part(left, of);
    const int end = begin + part.steps;
    const int left_steps = part.steps == left.end - left.first ? givers * STEPS_OF_A_GIVER : 0;
    const int kept = end + left_steps - 1;
    Totals totals = {};
    add_part(shared, begin, end, kept, own, totals);
    if (part.first_step + part.steps < of.steps) {
      leave(shared, left_sums, totals, own.group);
    } else {
      if (left_steps > 0) add_left(shared, end, kept, givers, own.group, totals);
      finish_tile(shared.room_over(kept % STAGES), part, totals, to, own);
    }
    if (kept % WARPS_K == own.group) give_back(shared, turn_of(kept));
  }
}

// All threads of a block call it.
__device__ inline void multiply(Shared& shared, Range own, const Problem& of, const Operands& from,
                                const Output& to) {
  const LeftSums left_sums = left_in(from.scratch);
  const int givers = count_givers(own, of);
  if (is_worker()) {
    if (NEED_MORE) take_registers<MORE_REGISTERS>();
    multiply_parts(shared, own, of, left_sums, givers, to);
    return;
  }
  if (NEED_MORE) give_registers<FEW_REGISTERS>();
  if (is_bringer_of_weights()) {
    bring_weights(shared, own, of, from);
    bring_nothing(shared, own, givers);
  } else if (is_bringer(OF_X)) {
    bring_x(shared, own, of, from);
    bring_left(shared, own, givers, left_sums);
  } else if (threadIdx.x == THREADS - 1) {
    tell_when_left(shared, own, of, left_sums.flags);
  }
}
