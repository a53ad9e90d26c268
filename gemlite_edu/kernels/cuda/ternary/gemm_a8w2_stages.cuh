// The part of gemm_a8w2_fast.cu that copies x and packed words to shared memory, step by step along K.
// There is room for STAGES steps. All threads meet once in each step, when it has come: by then the
// step before it may still be multiplied, and the one before that is done, whose room is filled.
#pragma once
#include "copies.cuh"
#include "warp.cuh"

constexpr int TILE_N = 16, TILE_K = 32, PIECES_OF_A_TILE = 8;  // BitNet's tile of codes, 128 bytes
constexpr int CHUNK = 16, CHUNKS = BLOCK_K / CHUNK;            // k of x that a thread copies at once
constexpr int BANDS = OUTPUTS / TILE_N, BAND_PIECES = BLOCK_K / TILE_K * PIECES_OF_A_TILE;
constexpr int X_STRIDE = TOKENS + 1;  // 1: chunks of a row, which neighbours copy, have other banks
constexpr int AHEAD = STAGES - 2;     // steps that are on their way
static_assert(AHEAD > 0, "beside two that are multiplied");

struct __align__(128) Stage {
  uint4 x[CHUNKS * X_STRIDE];  // a chunk of each token, then the next chunks
  uint4 words[BANDS][BAND_PIECES];
};

// A tile of y, and the steps along K that this block adds up for it.
struct Share {
  int first_m, first_n, first_step, steps, split;
};

__device__ inline Share own_share(int K) {
  const int tile = blockIdx.x / SPLITS, split = blockIdx.x % SPLITS, all = ceil_div(K, BLOCK_K);
  const int first = all * split / SPLITS, end = all * (split + 1) / SPLITS;
  return {static_cast<int>(blockIdx.y) * TOKENS, tile * OUTPUTS, first, end - first, split};
}

struct Operands {
  const int8_t* x;
  const uint4* W_packed;
  int M, N, K;
};

// What is beyond M, N and K is copied as 0.
__device__ inline void copy_x(const Operands& from, int first_m, int first_k, Stage& to) {
  constexpr int COUNT = TOKENS * CHUNKS;
  #pragma unroll
  for (int first = 0; first < COUNT; first += THREADS) {
    const int i = first + threadIdx.x, row = i / CHUNKS, chunk = i % CHUNKS;
    if (COUNT % THREADS && i >= COUNT) break;
    const int m = first_m + row, k = first_k + chunk * CHUNK;
    copy_16_async(&to.x[chunk * X_STRIDE + row], &from.x[static_cast<size_t>(m) * from.K + k],
                  m < from.M && k < from.K);
  }
}

__device__ inline void copy_words(const Operands& from, int first_n, int first_k, Stage& to) {
  constexpr int COUNT = BANDS * BAND_PIECES;
  const int row_pieces = from.K / TILE_K * PIECES_OF_A_TILE, num_bands = ceil_div(from.N, TILE_N);
  #pragma unroll
  for (int first = 0; first < COUNT; first += THREADS) {
    const int i = first + threadIdx.x;
    if (COUNT % THREADS && i >= COUNT) break;
    const int band = first_n / TILE_N + i / BAND_PIECES;
    const int piece = first_k / TILE_K * PIECES_OF_A_TILE + i % BAND_PIECES;
    copy_16_async(&to.words[i / BAND_PIECES][i % BAND_PIECES],
                  &from.W_packed[static_cast<size_t>(band) * row_pieces + piece],
                  band < num_bands && piece < row_pieces);
  }
}

// Begin to copy a step: one batch, also beyond the last step, where it is empty.
__device__ inline void copy_step(const Operands& from, const Share& own, int step, Stage* stages) {
  if (step < own.steps) {
    const int first_k = (own.first_step + step) * BLOCK_K;
    copy_x(from, own.first_m, first_k, stages[step % STAGES]);
    copy_words(from, own.first_n, first_k, stages[step % STAGES]);
  }
  __pipeline_commit();
}
