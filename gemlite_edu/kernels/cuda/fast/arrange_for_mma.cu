// x (M, K) fp16 as lanes read it for multiply_add, for gemm_fast.cuh with ROWS 16; K a multiple of
// TILE_K. Of each step:
//
//   image   (TILE_K / 32, ROWS, 4, 2, 4) half  k 4 t to 4 t + 3 of two planes of 16 side by side
//   x_sums  (TILE_K / PART, ROWS) float        behind it: of x over each part; zeros beyond M
//
// Grid (ROWS * K / 8 / THREADS, ceil(M / ROWS)); a thread takes 8 k of a row.
#include "early.cuh"
#include "tensor_core.cuh"

constexpr int CHUNK = 8, THREADS = 128, CHUNKS = TILE_K / CHUNK;  // of a row in a step
constexpr int X_BYTES = ROWS * TILE_K * 2 + TILE_K / PART * ROWS * 4;

__device__ inline float sum_of(uint4 chunk) {
  const uint32_t pairs[] = {chunk.x, chunk.y, chunk.z, chunk.w};
  float sum = 0.0f;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __half22float2(as_half2(pairs[i]));
    sum += pair.x + pair.y;
  }
  return sum;
}

__global__ void __launch_bounds__(THREADS)
arrange(const half* x, unsigned char* image, int M, int K) {
  wait_for_kernel_before();
  let_next_kernel_begin();
  const int i = blockIdx.x * THREADS + threadIdx.x, place = i % CHUNKS, m = i / CHUNKS % ROWS;
  const int tile = i / (CHUNKS * ROWS), row = blockIdx.y * ROWS + m;
  uint4 chunk = make_uint4(0, 0, 0, 0);
  if (row < M) {
    const half* from = &x[static_cast<size_t>(row) * K + tile * TILE_K + place * CHUNK];
    chunk = *reinterpret_cast<const uint4*>(from);
  }
  image += (static_cast<size_t>(blockIdx.y) * (K / TILE_K) + tile) * X_BYTES;
  const int plane = place / 2, t = place % 2 * 2;
  uint2* to = reinterpret_cast<uint2*>(image) + ((plane / 2 * ROWS + m) * 4 + t) * 2 + plane % 2;
  to[0] = make_uint2(chunk.x, chunk.y);
  to[2] = make_uint2(chunk.z, chunk.w);

  float sum = sum_of(chunk);
  #pragma unroll
  for (int other = 1; other < PART / CHUNK; other *= 2) {
    sum += __shfl_xor_sync(FULL_WARP, sum, other);
  }
  float* x_sums = reinterpret_cast<float*>(image + ROWS * TILE_K * 2);
  if (place % (PART / CHUNK) == 0) x_sums[place / (PART / CHUNK) * ROWS + m] = sum;
}
