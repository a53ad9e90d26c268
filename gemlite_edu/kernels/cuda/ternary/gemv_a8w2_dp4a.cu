// GEMV: int8 activations, ternary weights, four products at a time with __dp4a into int32. Codes
// stay unsigned: sum (code - 2) x = sum code x - 2 sum x, and one sum of x serves 4 outputs.
//
//   x             (M, K)       int8, K a multiple of 32, rows aligned to 16 bytes
//   W_packed      tiles of 16 outputs x 32 codes, those of the same outputs one after the other
//   scales        (N)          float; token_scales (M) float
//   y             (M, N)       Y_T
//
// Grid (ceil(N / 16), ceil(M / ROWS)): block (b, c) serves outputs 16 b, ... for ROWS rows of x; its
// warps share out K, four tiles at a time. A lane takes 16 bytes of a tile, which are 4 outputs at
// 16 k, and the 16 bytes of x that they meet.
// Source: microsoft/BitNet's W2A8 GEMV, whose packing this reads, with other loads and arithmetic.
// claim: W 16 sectors/request, x 4 sectors/request
#include "ternary.cuh"
#include "warp.cuh"

constexpr int OUTPUTS_OF_A_LANE = 4;
constexpr int TILES_OF_A_STEP = WARP_SIZE / PIECES_OF_A_TILE;
constexpr int ONES = 0x01010101;
constexpr int UNROLL = 2;  // loads in flight

// The four dot products of a lane's words with 16 bytes of x, added to sums.
__device__ void add_products(uint4 words, uint4 x, int* sums) {
  const uint32_t word[] = {words.x, words.y, words.z, words.w};
  const uint32_t four_x[] = {x.x, x.y, x.z, x.w};
  int sum_x = 0;
  #pragma unroll
  for (int i = 0; i < 4; ++i) sum_x = __dp4a(static_cast<int>(four_x[i]), ONES, sum_x);
  #pragma unroll
  for (int j = 0; j < OUTPUTS_OF_A_LANE; ++j) {
    sums[j] -= 2 * sum_x;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t codes = four_codes(word[j], i);
      sums[j] = __dp4a(static_cast<int>(four_x[i]), static_cast<int>(codes), sums[j]);
    }
  }
}

__global__ void __launch_bounds__(WARPS* WARP_SIZE)
gemv(const int8_t* x, const uint32_t* W_packed, const float* scales, const float* token_scales,
     Y_T* y, int M, int N, int K) {
  __shared__ int partial[WARPS][ROWS][TILE_N];
  const int warp_id = threadIdx.x / WARP_SIZE, lane_id = threadIdx.x % WARP_SIZE;
  const int num_tiles = K / TILE_K, first_m = blockIdx.y * ROWS;

  const int piece = lane_id % PIECES_OF_A_TILE;
  const PiecePlace place = place_of_piece(piece);
  const uint4* band = reinterpret_cast<const uint4*>(W_packed) +
                      static_cast<size_t>(blockIdx.x) * num_tiles * PIECES_OF_A_TILE;

  int sums[ROWS][OUTPUTS_OF_A_LANE] = {};
  #pragma unroll UNROLL
  for (int tile = warp_id * TILES_OF_A_STEP + lane_id / PIECES_OF_A_TILE; tile < num_tiles;
       tile += WARPS * TILES_OF_A_STEP) {
    const uint4 words = band[tile * PIECES_OF_A_TILE + piece];
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const size_t m = min(first_m + r, M - 1);
      const int8_t* met = &x[m * K + tile * TILE_K + place.k];
      add_products(words, *reinterpret_cast<const uint4*>(met), sums[r]);
    }
  }

  // Lanes with the same outputs differ in the bits of k: 2 in the tile, 8 and 16 between tiles.
  #pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    #pragma unroll
    for (int j = 0; j < OUTPUTS_OF_A_LANE; ++j) {
      int sum = sums[r][j];
      sum += __shfl_xor_sync(FULL_WARP, sum, 2);
      sum += __shfl_xor_sync(FULL_WARP, sum, 8);
      sum += __shfl_xor_sync(FULL_WARP, sum, 16);
      if (lane_id < PIECES_OF_A_TILE && place.k == 0) partial[warp_id][r][place.n + j] = sum;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < ROWS * TILE_N; i += blockDim.x) {
    const int r = i / TILE_N, n = blockIdx.x * TILE_N + i % TILE_N;
    if (n >= N || first_m + r >= M) continue;
    int sum = 0;
    for (int w = 0; w < WARPS; ++w) sum += partial[w][r][i % TILE_N];
    const size_t m = first_m + r;
    write_y(&y[m * N + n], sum, token_scales, scales, m, n);
  }
}
