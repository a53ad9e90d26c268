// The part of gemm_fast.cuh that brings x and weights to shared memory: STAGES steps at once, each
// tensor's piece of a step by one bulk copy. A stage is full when all its bytes are there, empty
// again when every lane that took it has said so.
#pragma once
#include "bulk_copies.cuh"

constexpr int X_SUMS = ROWS == 16 ? PARTS * ROWS : 0;  // floats behind the x of a step
constexpr int X_BYTES = ROWS * TILE_K * 2 + X_SUMS * 4;
constexpr int ROW_BYTES = 64;                          // of the words of a row in a step

struct __align__(128) Stage {
  uint4 x[X_BYTES / 16];
  uint4 words[BLOCK_N][4];
  SCALE_T scales[PARTS][BLOCK_N];
  ZERO_T zeros[PARTS][BLOCK_N];
};

// Few rows leave room for the sums that the blocks of a cluster hand to each other: they need not
// wait for each other's stages.
constexpr bool HAS_OWN_ROOM = ROWS <= 32;
constexpr int SUM_STRIDE = BLOCK_N + 4;  // 4: lanes of a warp write to banks of their own
constexpr int SUMS = WARPS_K * ROWS * SUM_STRIDE;

struct Shared {
  Stage stages[STAGES];
  float room[HAS_OWN_ROOM ? SUMS : 4];
  uint64_t full[STAGES], empty[STAGES];

  __device__ float* sums() { return HAS_OWN_ROOM ? room : reinterpret_cast<float*>(stages); }
};
static_assert(HAS_OWN_ROOM || SUMS * sizeof(float) <= sizeof(Stage[STAGES]), "sums fit the stages");
// A barrier knows only whether its phase is odd. So a group must come to every phase of a stage's,
// or it would take the phase before the last for the next.
static_assert(STAGES % WARPS_K == 0, "a stage is always the same group's");

__device__ inline void make_barriers(Shared& shared) {
  for (int stage = 0; stage < STAGES; ++stage) {
    barrier_init(&shared.full[stage], 2);  // x and the weights
    barrier_init(&shared.empty[stage], WARPS_N * WARP_SIZE);
  }
  barriers_made();
}

// Rows of a tile that W has not, from `rows` on: what is made of them nobody keeps.
__device__ inline void clear_rows(Shared& shared, int rows) {
  for (int i = threadIdx.x; i < STAGES * (BLOCK_N - rows); i += THREADS) {
    const int row = rows + i / STAGES;
    Stage& stage = shared.stages[i % STAGES];
    for (uint4& words : stage.words[row]) words = make_uint4(0, 0, 0, 0);
    for (int part = 0; part < PARTS; ++part) {
      stage.scales[part][row] = SCALE_T(0.0f);
      stage.zeros[part][row] = ZERO_T(0.0f);
    }
  }
}

// The stage of a step, once what it held before was used.
__device__ inline Stage& empty_stage(Shared& shared, int step) {
  if (step >= STAGES) barrier_wait(&shared.empty[step % STAGES], step / STAGES - 1);
  return shared.stages[step % STAGES];
}

__device__ inline void bring_weights(Shared& shared, Share own, const uint4* W_packed,
                                     const SCALE_T* scales, const ZERO_T* zeros, int N) {
  const int scale_bytes = HAS_SCALES ? own.rows * sizeof(SCALE_T) : 0;
  const int zero_bytes = HAS_ZEROS ? own.rows * sizeof(ZERO_T) : 0;
  for (int step = 0; step < own.steps; ++step) {
    const int place = own.first_step + step;
    Stage& to = empty_stage(shared, step);
    uint64_t* full = &shared.full[step % STAGES];
    barrier_arrive_expecting(full, own.rows * ROW_BYTES + PARTS * (scale_bytes + zero_bytes));
    const size_t first_row = static_cast<size_t>(place) * N + own.first_n;
    bulk_copy_once(to.words, &W_packed[first_row * 4], own.rows * ROW_BYTES, full);
    for (int part = 0; part < PARTS; ++part) {
      const int group = PARTS == 1 ? place / STEPS_PER_GROUP : place * PARTS + part;
      const size_t from = static_cast<size_t>(group) * N + own.first_n;
      if (HAS_SCALES) bulk_copy(to.scales[part], &scales[from], scale_bytes, full);
      if (HAS_ZEROS) bulk_copy(to.zeros[part], &zeros[from], zero_bytes, full);
    }
  }
}

// The kernel that makes x_image may still run: it writes none of the weights.
__device__ inline void bring_x(Shared& shared, Share own, const unsigned char* x_image, int K) {
  const size_t first = static_cast<size_t>(own.row_block) * (K / TILE_K) + own.first_step;
  wait_for_kernel_before();
  for (int step = 0; step < own.steps; ++step) {
    Stage& to = empty_stage(shared, step);
    uint64_t* full = &shared.full[step % STAGES];
    barrier_arrive_expecting(full, X_BYTES);
    bulk_copy(to.x, &x_image[(first + step) * X_BYTES], X_BYTES, full);
  }
}
