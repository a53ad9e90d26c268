// GEMM: int8 activations, ternary weights, on Hopper's tensor cores: y^T = W x^T by wgmma, int32 sums.
//
//   x             (M, K)       int8, K a multiple of 32, rows aligned to 16 bytes
//   W_packed      tiles of 16 outputs x 32 codes, those of the same outputs one after the other
//   scales        (N)          float; token_scales (M) float
//   y             (M, N)       half or __nv_bfloat16; or int, where y is the sum alone
//
// Grid (SPLITS * ceil(N / OUTPUTS), ceil(M / TOKENS)): the SPLITS blocks of a cluster share out the
// steps along K of a tile of y. Packed words and x arrive by asynchronous copies, as they are. A lane
// makes weights of its words in registers, where wgmma takes them; x it takes from shared memory.
// claim: x 16 sectors/request, W 16 sectors/request, shared_bytes conflict-free
#include <cuda_bf16.h>

#include <type_traits>

#include "wgmma_s8.cuh"

constexpr int WARPS = 4 * WARPGROUPS, THREADS = WARPS * WARP_SIZE;
constexpr int LANE_OUTPUTS = 2 * TILES, OUTPUTS = 16 * TILES * WARPS, COLUMNS = TOKENS / 8;
constexpr int BUFFERS = TOKENS * TILES < 256 ? 4 : 2;  // weights of 32 k that wgmma reads at once
constexpr int WEIGHT_SHIFT = 6;                        // sums are of 64 times the weights

// A lane's sums: rows of W (tile, j / 2) and tokens (8 * column + 2 t + j % 2); wgmma_s8.cuh.
using Sums = int[TILES][COLUMNS][4];

// The first of the lane's outputs in a tile of y. We give it neighbours, which it reads and hands out
// together, as rows g and g + 8 of each of its tiles.
__device__ inline int lane_output() { return threadIdx.x / 4 * LANE_OUTPUTS; }

// 32 bits for each of these outputs: 16 codes, or a sum.
using Words = std::conditional_t<TILES == 1, uint2, uint4>;

#include "gemm_a8w2_stages.cuh"
#include "gemm_a8w2_finish.cuh"

// Codes 4 t to 4 t + 3 of a word as weights, 64 * (code - 2) in signed bytes. Code e is in byte e % 4,
// at bit 2 * (e / 4): `unit` moves it to the upper two bits, of which the first is then turned.
__device__ inline uint32_t four_weights(uint32_t word, uint32_t unit) {
  return and_xor(word * unit, 0xC0C0C0C0, 0x80808080);
}

__device__ inline Words load_words(const Stage& from, int chunk) {
  const int n = lane_output(), eight = n % TILE_N / 8 * 2 + chunk % 2, tile = chunk / 2;
  const uint4* words = &from.words[n / TILE_N][tile * PIECES_OF_A_TILE + eight * 2];
  return *reinterpret_cast<const Words*>(reinterpret_cast<const uint32_t*>(words) + n % 8);
}

// What wgmma may still read when multiply_step returns.
using Pending = uint32_t[BUFFERS][TILES][4];
static_assert(CHUNKS / 2 % BUFFERS == 0, "in every step the same k have the same buffer");

// Adds a step's products to sums. Weights are made while wgmma is at work with those before them.
__device__ inline void multiply_step(const Stage& from, Sums& sums, Pending& pending) {
  const GroupOperand x = group_operand(from.x);
  const uint32_t unit = (1 << WEIGHT_SHIFT) >> threadIdx.x % 4 * 2;
  #pragma unroll
  for (int i = 0; i < CHUNKS / 2; ++i) {
    uint32_t words[2][LANE_OUTPUTS];
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Words bits = load_words(from, 2 * i + half);
      memcpy(words[half], &bits, sizeof(bits));
    }
    auto& weights = pending[i % BUFFERS];
    group_wait<BUFFERS - 1>();
    #pragma unroll
    for (int j = 0; j < TILES * 4; ++j) {
      group_hold(weights[j / 4][j % 4]);
      weights[j / 4][j % 4] = four_weights(words[j % 4 / 2][j / 4 * 2 + j % 2], unit);
    }
    group_fence();
    #pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
      group_multiply_add<TOKENS, X_STRIDE>(sums[tile], weights[tile], x + i * 2 * X_STRIDE);
    }
    group_commit();
  }
}

// Between two calls nothing but wgmma uses sums: else the compiler makes each wgmma wait for the last.
__device__ inline void hold(Sums& sums) {
  #pragma unroll
  for (int i = 0; i < TILES * COLUMNS * 4; ++i) {
    group_hold(sums[i / 4 / COLUMNS][i / 4 % COLUMNS][i % 4]);
  }
}

__device__ inline void add_steps(const Operands& from, const Share& own, Stage* stages, Sums& sums) {
  Pending pending;
  for (int step = 0; step < AHEAD; ++step) copy_step(from, own, step, stages);
  hold(sums);
  for (int step = 0; step < own.steps; ++step) {
    __pipeline_wait_prior(AHEAD - 1);
    show_copies_to_wgmma();
    __syncthreads();
    copy_step(from, own, step + AHEAD, stages);
    multiply_step(stages[step % STAGES], sums, pending);
  }
  group_wait<0>();
  hold(sums);
}

__global__ void __launch_bounds__(THREADS)
gemm(const int8_t* x, const uint32_t* W_packed, const float* scales, const float* token_scales,
     Y_T* y, int M, int N, int K) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  const Operands from = {x, reinterpret_cast<const uint4*>(W_packed), M, N, K};
  const Share own = own_share(K);
  let_next_kernel_begin();
  wait_for_kernel_before();
  Sums sums = {};
  add_steps(from, own, reinterpret_cast<Stage*>(shared_bytes), sums);

  Room& room = *reinterpret_cast<Room*>(shared_bytes);
  __syncthreads();  // all are done with the stages
  lay_out(room, sums);
  meet_cluster();
  write_rows(room, own, {scales, token_scales, y, M, N});
  __syncwarp();
  meet_cluster();  // until then other blocks may read what lies here
}
