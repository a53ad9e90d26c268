// The part of gemm_fast.cuh that brings x and weights to shared memory: STAGES steps at once, each
// tensor's piece of a step by one bulk copy. A stage is full when all its bytes are there, empty
// again when every lane that took it has said so.
#pragma once
#include "bulk_copies.cuh"

constexpr int X_SUMS = ROWS == 16 ? PARTS * ROWS : 0;  // floats behind the x of a step
constexpr int X_BYTES = ROWS * TILE_K * 2 + X_SUMS * 4;

#if ROWS == 16
using XRows = const half*;
constexpr int STAGE_ALIGNMENT = 128;
#else
#include "row_boxes.cuh"
using XRows = RowMap;
constexpr int STAGE_ALIGNMENT = BOX_ALIGNMENT;
#endif

struct __align__(STAGE_ALIGNMENT) Stage {
  uint4 x[X_BYTES / 16];
  uint4 words[REGISTERS * BLOCK_N];
  SCALE_T scales[PARTS][BLOCK_N];
  ZERO_T zeros[PARTS][BLOCK_N];
};

// Rows of a tile whose sums have room beside the stages: all of few rows, 16 of 64. Where no row has,
// sums lie where stages have been: over the last stage of a part where IS_EVEN, and otherwise over all
// of them, when all steps are done.
constexpr int OWN_ROWS = ROWS <= 32 ? ROWS : ROWS == 64 && IS_EVEN ? 16 : 0;
constexpr int SUM_STRIDE = BLOCK_N + (IS_EVEN ? 4 : 0);  // 4: other banks; else four_at sees to it
constexpr int ROW_SUMS = WARPS_K * SUM_STRIDE;

struct Shared {
  Stage stages[STAGES];
  float4 room[OWN_ROWS > 0 ? OWN_ROWS * ROW_SUMS / 4 : 1];
  uint64_t full[STAGES], empty[STAGES];
  uint64_t left;  // all workers have written what the block leaves

  __device__ float4* room_over(int stage) {
    return OWN_ROWS > 0 ? room : reinterpret_cast<float4*>(&stages[stage]);
  }
};
// A barrier knows only whether its phase is odd. So a group must come to every phase of a stage's,
// or it would take the phase before the last for the next.
static_assert(STAGES % WARPS_K == 0, "a stage is always the same group's");

// What the bringers bring. Each is a thread of a warp of its own: two take turns in the steps of the
// weights, where one alone would be late, and one brings x.
struct Operands {
  const uint4* W_packed;
  const SCALE_T* scales;
  const ZERO_T* zeros;
  const XRows* x;
  unsigned char* scratch;
};
constexpr int OF_X = 2;
__device__ inline bool is_bringer(int number) {
  return threadIdx.x == WORKER_THREADS + number * WARP_SIZE;
}
__device__ inline bool is_bringer_of_weights() { return is_bringer(0) || is_bringer(1); }
__device__ inline bool is_own_turn(int step) { return is_bringer(step % 2); }

__device__ inline void make_barriers(Shared& shared) {
  for (int stage = 0; stage < STAGES; ++stage) {
    barrier_init(&shared.full[stage], 2);  // weights and x
    barrier_init(&shared.empty[stage], WARPS_N * WARP_SIZE);
  }
  barrier_init(&shared.left, WORKERS);
  barriers_made();
}

// The last tile may have rows that W has not: what is made of them nobody keeps.
__device__ inline void clear_rows_beyond(Shared& shared, Range own, const Problem& of) {
  const int rows = of.N % BLOCK_N, whole_tiles = of.N / BLOCK_N * of.row_blocks;
  if (rows == 0 || own.end <= whole_tiles * of.steps) return;
  for (int i = threadIdx.x; i < STAGES * (BLOCK_N - rows); i += THREADS) {
    const int row = rows + i / STAGES;
    Stage& stage = shared.stages[i % STAGES];
    for (int j = 0; j < REGISTERS; ++j) stage.words[word_at(row, j)] = make_uint4(0, 0, 0, 0);
    for (int part = 0; part < PARTS; ++part) {
      stage.scales[part][row] = SCALE_T(0.0f);
      stage.zeros[part][row] = ZERO_T(0.0f);
    }
  }
  let_copies_follow();
}

// The stage of a step, once what it held before was used. Where STAGES are odd, a thread that brings
// weights skips every other phase of a stage. Then there is one group, which gives stages back in the
// order of steps: by the step before, for which the thread has waited, the skipped phase has ended.
__device__ inline Stage& empty_stage(Shared& shared, int step) {
  if (step >= STAGES) barrier_wait(&shared.empty[step % STAGES], step / STAGES - 1);
  return shared.stages[step % STAGES];
}

// The stage of a step, and which of the stage's phases it is.
struct Turn {
  int stage, phase;

  // That of the next step of the same group.
  __device__ Turn next() const {
    const int after = stage + WARPS_K;
    return after < STAGES ? Turn{after, phase} : Turn{after - STAGES, phase + 1};
  }
};
__device__ inline Turn turn_of(int step) { return {step % STAGES, step / STAGES}; }

// Workers wait for the stage of a step to be full, and give it back. A step is its group's alone.
__device__ inline const Stage& full_stage(Shared& shared, Turn of) {
  barrier_wait(&shared.full[of.stage], of.phase);
  return shared.stages[of.stage];
}
__device__ inline void give_back(Shared& shared, Turn of) {
  barrier_arrive(&shared.empty[of.stage]);
}
__device__ inline int first_of_group(int begin, int group) {
  return begin + (group + WARPS_K - begin % WARPS_K) % WARPS_K;
}

// Begins to copy x of ROWS rows and of step `place` along K, and arrives at `full` for its bytes.
__device__ inline void bring_rows(uint4* to, const Operands& from, int row_block, int place,
                                  const Problem& of, uint64_t* full);

__device__ inline void bring_weights(Shared& shared, Range left, const Problem& of,
                                     const Operands& from) {
  Part part;
  for (int step = 0; left.first < left.end; left.end -= part.steps) {
    part = last_part(left, of);
    const int word_bytes = part.rows * REGISTERS * sizeof(uint4);
    const int scale_bytes = HAS_SCALES ? part.rows * sizeof(SCALE_T) : 0;
    const int zero_bytes = HAS_ZEROS ? part.rows * sizeof(ZERO_T) : 0;
    #pragma unroll 1
    for (int place = part.first_step; place < part.first_step + part.steps; ++place, ++step) {
      if (!is_own_turn(step)) continue;
      Stage& to = empty_stage(shared, step);
      uint64_t* full = &shared.full[step % STAGES];
      barrier_arrive_expecting(full, word_bytes + PARTS * (scale_bytes + zero_bytes));
      const uint4* words = &from.W_packed[static_cast<size_t>(place) * of.N * REGISTERS];
      bring_words(to.words, words, of.N, part.first_n, part.rows, full);
      for (int i = 0; i < PARTS; ++i) {
        const int group = PARTS == 1 ? place / STEPS_PER_GROUP : place * PARTS + i;
        const size_t first = static_cast<size_t>(group) * of.N + part.first_n;
        if (HAS_SCALES) bulk_copy(to.scales[i], &from.scales[first], scale_bytes, full);
        if (HAS_ZEROS) bulk_copy(to.zeros[i], &from.zeros[first], zero_bytes, full);
      }
    }
  }
}

// Whoever writes x or its image may still run, and writes none of the weights. If lower_flags.cu comes
// between, it ends only after that kernel.
__device__ inline void bring_x(Shared& shared, Range left, const Problem& of, const Operands& from) {
  wait_for_kernel_before();
  Part part;
  for (int step = 0; left.first < left.end; left.end -= part.steps) {
    part = last_part(left, of);
    #pragma unroll 1
    for (int place = part.first_step; place < part.first_step + part.steps; ++place, ++step) {
      Stage& to = empty_stage(shared, step);
      bring_rows(to.x, from, part.row_block, place, of, &shared.full[step % STAGES]);
    }
  }
}
