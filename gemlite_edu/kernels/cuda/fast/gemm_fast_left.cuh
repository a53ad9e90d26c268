// The part of gemm_fast.cuh in which a block leaves its sums of a part that does not end its tile to
// the block that ends the tile. That one gets them through its stages, as further steps.
#pragma once
#include "flags.cuh"

constexpr int GROUP_THREADS = WARPS_N * WARP_SIZE, LANE_FOURS = TILES * COLUMNS;

// Fours of a lane that a stage has room for.
constexpr int fours_of_a_step() {
  int fours = LANE_FOURS;
  while (GROUP_THREADS * fours * sizeof(float4) > sizeof(Stage)) fours /= 2;
  return fours;
}
constexpr int STEP_FOURS = fours_of_a_step(), STEPS_OF_A_GROUP = LANE_FOURS / STEP_FOURS;
constexpr int STEPS_OF_A_GIVER = STEPS_OF_A_GROUP * WARPS_K;
static_assert(STEP_FOURS > 0, "a stage has room for some sums of each lane");

// In scratch: a flag for each block, and its sums, as the lanes of each group hold them.
struct LeftSums {
  int* flags;
  float4* sums;

  __device__ float4* of(int block, int group) const {
    return sums + (static_cast<size_t>(block) * WARPS_K + group) * (LANE_FOURS * GROUP_THREADS);
  }
};

__device__ inline LeftSums left_in(unsigned char* scratch) {
  unsigned char* sums = scratch + ceil_div(gridDim.x, 4) * sizeof(int4);
  return {reinterpret_cast<int*>(scratch), reinterpret_cast<float4*>(sums)};
}

// How many blocks before this one leave it sums: of the tile in which its range begins, if it ends it.
__device__ inline int count_givers(Range own, const Problem& of) {
  const int tile_first = own.first / of.steps * of.steps;
  if (tile_first + of.steps > own.end) return 0;
  int givers = 0;
  for (int first = own.first; first > tile_first; first = range_of(blockIdx.x - givers, of).first) {
    ++givers;
  }
  return givers;
}

__device__ inline void leave(Shared& shared, const LeftSums& to, const Totals& totals, int group) {
  float4* own = to.of(blockIdx.x, group) + threadIdx.x % GROUP_THREADS;
  #pragma unroll
  for (int i = 0; i < LANE_FOURS; ++i) {
    const float* four = totals[i / COLUMNS][i % COLUMNS];
    own[i * GROUP_THREADS] = make_float4(four[0], four[1], four[2], four[3]);
  }
  let_copies_read();
  __syncwarp();
  if (threadIdx.x % WARP_SIZE == 0) barrier_arrive(&shared.left);
}

// One thread calls it, beside the workers, who need not wait until their sums can be read.
__device__ inline void tell_when_left(Shared& shared, Range own, const Problem& of, int* flags) {
  if (own.end % of.steps == 0) return;
  wait_for_kernel_before();  // which has lowered the flags
  barrier_wait(&shared.left, 0);
  raise_flag(&flags[blockIdx.x]);
}

// The thread that brings x calls it, which has waited for the kernel before.
__device__ inline void bring_left(Shared& shared, Range own, int givers, const LeftSums& from) {
  int step = own.end - own.first;
  for (int block = blockIdx.x - givers; block < blockIdx.x; ++block) {
    wait_for_flag(&from.flags[block]);
    let_copies_read();
    for (int i = 0; i < STEPS_OF_A_GIVER; ++i, ++step) {
      constexpr int COUNT = STEP_FOURS * GROUP_THREADS, BYTES = COUNT * sizeof(float4);
      uint64_t* full = &shared.full[step % STAGES];
      Stage& to = empty_stage(shared, step);
      barrier_arrive_expecting(full, BYTES);
      bulk_copy(&to, from.of(block, step % WARPS_K) + i / WARPS_K * COUNT, BYTES, full);
    }
  }
}

// The threads that bring weights have none for these steps.
__device__ inline void bring_nothing(Shared& shared, Range own, int givers) {
  const int begin = own.end - own.first, end = begin + givers * STEPS_OF_A_GIVER;
  for (int step = begin; step < end; ++step) {
    if (!is_own_turn(step)) continue;
    empty_stage(shared, step);
    barrier_arrive(&shared.full[step % STAGES]);
  }
}

// Adds what others have left, which comes in the steps from `begin` on. Gives back their stages but
// that of step `kept`.
__device__ inline void add_left(Shared& shared, int begin, int kept, int givers, int group,
                                Totals& totals) {
  int step = first_of_group(begin, group);
  for (int giver = 0; giver < givers; ++giver) {
    #pragma unroll
    for (int first = 0; first < LANE_FOURS; first += STEP_FOURS, step += WARPS_K) {
      const float4* from = reinterpret_cast<const float4*>(&full_stage(shared, turn_of(step)));
      #pragma unroll
      for (int i = first; i < first + STEP_FOURS; ++i) {
        const float4 given = from[(i - first) * GROUP_THREADS + threadIdx.x % GROUP_THREADS];
        float* four = totals[i / COLUMNS][i % COLUMNS];
        four[0] += given.x, four[1] += given.y, four[2] += given.z, four[3] += given.w;
      }
      if (step != kept) give_back(shared, turn_of(step));
    }
  }
}
