// y = x Wᵀ with unquantized weights, one warp per output; lane 0 adds up the 32 partial sums.
//
//   x (M, K), W (N, K), y (M, N), all X_T
//
// Grid (ceil(N / warps_per_block), M). Lane l takes k = l, l + 32, ...: at each step the 32 lanes
// of a warp read 32 neighbours. Their partial sums meet in shared memory.
// claim: W 2 sectors/request, x 2 sectors/request, partial conflict-free
#include "numbers.cuh"
#include "warp.cuh"

__global__ void __launch_bounds__(MAX_THREADS_PER_BLOCK)
gemv(const X_T* x, const X_T* W, X_T* y, int N, int K) {
  __shared__ float partial[MAX_THREADS_PER_BLOCK];
  const int lane_id = threadIdx.x % WARP_SIZE;
  const int n = blockIdx.x * (blockDim.x / WARP_SIZE) + threadIdx.x / WARP_SIZE;
  const size_t m = blockIdx.y;

  float sum = 0.0f;
  if (n < N) {
    const X_T* row = W + static_cast<size_t>(n) * K;
    for (int k = lane_id; k < K; k += WARP_SIZE) {
      sum += to_float(row[k]) * to_float(x[m * K + k]);
    }
  }
  partial[threadIdx.x] = sum;
  __syncthreads();

  if (n < N && lane_id == 0) {
    for (int lane = 1; lane < WARP_SIZE; ++lane) {
      sum += partial[threadIdx.x + lane];
    }
    y[m * N + n] = static_cast<X_T>(sum);
  }
}
