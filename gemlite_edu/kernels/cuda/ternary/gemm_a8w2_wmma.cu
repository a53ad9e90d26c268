// GEMM: int8 activations, ternary weights, on tensor cores through WMMA, int32 accumulators.
//
//   x             (M, K)       int8, K a multiple of 32, rows aligned to 16 bytes
//   W_packed      tiles of 16 outputs x 32 codes, those of the same outputs one after the other
//   scales        (N)          float; token_scales (M) float
//   y             (M, N)       Y_T
//
// Grid (ceil(N / BLOCK_N), ceil(M / BLOCK_M)). A block goes along K in steps of BLOCK_K. Of one step
// x and the packed words arrive by asynchronous copies, while the words of the step before are
// decoded, once for all BLOCK_M tokens, and the step before that is multiplied. WARPS_M x WARPS_N
// warps share out the outputs of the block, WARPS_K of them each part its k.
// In shared memory x and W lie slab by slab of 16 k, in which row follows row: a fragment is one
// piece of memory. What is beyond M, N and K is copied as 0; what comes of it is not written.
// Source: M-iki/BitMedViT, whose fragments and packing these are.
// claim: x 16 sectors/request, W 16 sectors/request
#include <mma.h>

#include "copies.cuh"
#include "ternary.cuh"
#include "warp.cuh"

namespace wmma = nvcuda::wmma;

constexpr int FRAGMENT_K = 16, BUFFERS = 3;
constexpr int WARPS = WARPS_M * WARPS_N * WARPS_K, THREADS = WARPS * WARP_SIZE;
constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;
constexpr int FRAGMENTS_M = WARP_M / FRAGMENT_M, FRAGMENTS_N = WARP_N / FRAGMENT_N;
constexpr int SLABS = BLOCK_K / FRAGMENT_K, WARP_SLABS = SLABS / WARPS_K;
static_assert(BLOCK_M * SLABS % THREADS == 0, "each thread copies as much of x");
constexpr int BAND_PIECES = BLOCK_K / TILE_K * PIECES_OF_A_TILE;  // of a band of tiles, in a step
constexpr int PIECES = BLOCK_N / TILE_N * BAND_PIECES;
constexpr int X_SLAB = BLOCK_M * FRAGMENT_K + 32, W_SLAB = BLOCK_N * FRAGMENT_K + 32;
constexpr int SUMS_ROW = BLOCK_N + 8;  // like the 32 bytes above: the next row has other banks

using Sums = wmma::fragment<wmma::accumulator, FRAGMENT_M, FRAGMENT_N, FRAGMENT_K, int>;
using XFragment = wmma::fragment<wmma::matrix_a, FRAGMENT_M, FRAGMENT_N, FRAGMENT_K, signed char,
                                 wmma::row_major>;
using WFragment = wmma::fragment<wmma::matrix_b, FRAGMENT_M, FRAGMENT_N, FRAGMENT_K, signed char,
                                 wmma::col_major>;

struct Shared {
  signed char x[BUFFERS][SLABS * X_SLAB];
  uint4 words[BUFFERS][PIECES];
  signed char W[2][SLABS * W_SLAB];
};
union Room {
  Shared steps;
  int sums[WARPS_K][BLOCK_M][SUMS_ROW];  // when all steps are done
};
static_assert(sizeof(Room) <= SHARED_BYTES, "what the launch asks for");

// What a block works on.
struct Problem {
  const int8_t* x;
  const uint4* W_packed;
  int M, N, K, first_m, first_n;
};

__device__ void copy_x(const Problem& p, int first_k, signed char* to) {
  // Four neighbours copy 64 bytes of a row.
  constexpr int ROWS_AT_ONCE = BLOCK_M < THREADS / 4 ? BLOCK_M : THREADS / 4;
  constexpr int SLABS_AT_ONCE = THREADS / ROWS_AT_ONCE;
  const int first_row = threadIdx.x / 4 % ROWS_AT_ONCE;
  const int first_slab = threadIdx.x / 4 / ROWS_AT_ONCE * 4 + threadIdx.x % 4;
  #pragma unroll
  for (int rows = 0; rows < BLOCK_M; rows += ROWS_AT_ONCE) {
    #pragma unroll
    for (int slabs = 0; slabs < SLABS; slabs += SLABS_AT_ONCE) {
      const int row = rows + first_row, slab = slabs + first_slab;
      const int m = p.first_m + row, k = first_k + slab * FRAGMENT_K;
      copy_16_async(&to[slab * X_SLAB + row * FRAGMENT_K],
                    &p.x[static_cast<size_t>(m) * p.K + k], m < p.M && k < p.K);
    }
  }
}

__device__ void copy_words(const Problem& p, int first_k, uint4* to) {
  const int row_pieces = p.K / TILE_K * PIECES_OF_A_TILE, num_bands = ceil_div(p.N, TILE_N);
  #pragma unroll
  for (int first = 0; first < PIECES; first += THREADS) {
    const int i = first + threadIdx.x;
    if (PIECES % THREADS && i >= PIECES) break;
    const int band = p.first_n / TILE_N + i / BAND_PIECES;
    const int piece = first_k / TILE_K * PIECES_OF_A_TILE + i % BAND_PIECES;
    copy_16_async(&to[i], &p.W_packed[static_cast<size_t>(band) * row_pieces + piece],
                  band < num_bands && piece < row_pieces);
  }
}

// Begin to copy a step into its buffers: one batch, also beyond the last step, where it is empty.
// Each block starts at another k and goes around: else all would ask for the same x at once.
__device__ void copy_step(const Problem& p, Shared& shared, int step) {
  const int num_steps = ceil_div(p.K, BLOCK_K);
  if (step < num_steps) {
    const int first_k = (step + blockIdx.x) % num_steps * BLOCK_K;
    copy_x(p, first_k, shared.x[step % BUFFERS]);
    copy_words(p, first_k, shared.words[step % BUFFERS]);
  }
  __pipeline_commit();
}

// The pieces that this thread copied, as signed bytes: 16 k of 4 outputs each.
__device__ void decode_step(Shared& shared, int step) {
  #pragma unroll
  for (int first = 0; first < PIECES; first += THREADS) {
    const int i = first + threadIdx.x;
    if (PIECES % THREADS && i >= PIECES) break;
    const uint4 piece = shared.words[step % BUFFERS][i];
    const uint32_t words[] = {piece.x, piece.y, piece.z, piece.w};
    const PiecePlace place = place_of_piece(i % PIECES_OF_A_TILE);
    const int slab = (i % BAND_PIECES / PIECES_OF_A_TILE * TILE_K + place.k) / FRAGMENT_K;
    const int n = i / BAND_PIECES * TILE_N + place.n;
    signed char* to = &shared.W[step % 2][slab * W_SLAB + n * FRAGMENT_K];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      reinterpret_cast<uint4*>(to)[j] =
          make_uint4(four_weights(words[j], 0), four_weights(words[j], 1),
                     four_weights(words[j], 2), four_weights(words[j], 3));
    }
  }
}

// This warp's part of the outputs and of the slabs of a block.
struct Part {
  int m, n, k;
};
__device__ Part part_of_warp() {
  const int warp_id = threadIdx.x / WARP_SIZE;
  return {warp_id % WARPS_M * WARP_M, warp_id / WARPS_M % WARPS_N * WARP_N,
          warp_id / (WARPS_M * WARPS_N)};
}

__device__ void multiply_step(const Shared& shared, int step,
                              Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  const Part part = part_of_warp();
  const signed char* x = &shared.x[step % BUFFERS][part.m * FRAGMENT_K];
  const signed char* W = &shared.W[step % 2][part.n * FRAGMENT_K];
  // All loads come before all products, so that they do not wait for each other.
  XFragment x_fragments[WARP_SLABS][FRAGMENTS_M];
  WFragment W_fragments[WARP_SLABS][FRAGMENTS_N];
  #pragma unroll
  for (int s = 0; s < WARP_SLABS; ++s) {
    const int slab = s * WARPS_K + part.k;
    #pragma unroll
    for (int i = 0; i < FRAGMENTS_M; ++i) {
      const signed char* from = &x[slab * X_SLAB + i * FRAGMENT_M * FRAGMENT_K];
      wmma::load_matrix_sync(x_fragments[s][i], from, FRAGMENT_K);
    }
    #pragma unroll
    for (int j = 0; j < FRAGMENTS_N; ++j) {
      const signed char* from = &W[slab * W_SLAB + j * FRAGMENT_N * FRAGMENT_K];
      wmma::load_matrix_sync(W_fragments[s][j], from, FRAGMENT_K);
    }
  }
  #pragma unroll
  for (int s = 0; s < WARP_SLABS; ++s) {
    #pragma unroll
    for (int i = 0; i < FRAGMENTS_M; ++i) {
      #pragma unroll
      for (int j = 0; j < FRAGMENTS_N; ++j) {
        wmma::mma_sync(sums[i][j], x_fragments[s][i], W_fragments[s][j], sums[i][j]);
      }
    }
  }
}

// Names in scope: copy_step, decode_step, multiply_step, BLOCK_K, Problem, Shared, Sums.
// BEGIN HOLE all_steps
// Add the products of all steps along K to sums. Step s is copied while s - 1 is decoded and s - 2
// multiplied. A thread decodes the words that it copied itself; what it multiplies, others have
// copied and decoded.
__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  copy_step(p, shared, 0);
  copy_step(p, shared, 1);
  __pipeline_wait_prior(1);  // all batches but the last one are here
  decode_step(shared, 0);
  __syncthreads();
  const int num_steps = ceil_div(p.K, BLOCK_K);
  for (int step = 0; step < num_steps; ++step) {
    copy_step(p, shared, step + 2);
    __pipeline_wait_prior(1);
    if (step + 1 < num_steps) decode_step(shared, step + 1);
    multiply_step(shared, step, sums);
    __syncthreads();
  }
}
// END HOLE

__global__ void __launch_bounds__(THREADS)
gemm(const int8_t* x, const uint32_t* W_packed, const float* scales, const float* token_scales,
     Y_T* y, int M, int N, int K) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  Room& room = *reinterpret_cast<Room*>(shared_bytes);
  const Problem p = {x, reinterpret_cast<const uint4*>(W_packed), M, N, K,
                     static_cast<int>(blockIdx.y) * BLOCK_M, static_cast<int>(blockIdx.x) * BLOCK_N};
  Sums sums[FRAGMENTS_M][FRAGMENTS_N];
  for (auto& row : sums) {
    for (auto& fragment : row) wmma::fill_fragment(fragment, 0);
  }
  all_steps(p, room.steps, sums);

  const Part part = part_of_warp();
  #pragma unroll
  for (int i = 0; i < FRAGMENTS_M; ++i) {
    #pragma unroll
    for (int j = 0; j < FRAGMENTS_N; ++j) {
      int* to = &room.sums[part.k][part.m + i * FRAGMENT_M][part.n + j * FRAGMENT_N];
      wmma::store_matrix_sync(to, sums[i][j], SUMS_ROW, wmma::mem_row_major);
    }
  }
  __syncthreads();
  #pragma unroll 4
  for (int i = threadIdx.x; i < BLOCK_M * BLOCK_N; i += THREADS) {
    const int row = i / BLOCK_N, column = i % BLOCK_N, m = p.first_m + row, n = p.first_n + column;
    int sum = 0;
    #pragma unroll
    for (int k = 0; k < WARPS_K; ++k) sum += room.sums[k][row][column];
    if (m < M && n < N) write_y(&y[static_cast<size_t>(m) * N + n], sum, token_scales, scales, m, n);
  }
}
