// y = x Wᵀ with unquantized weights, one warp per output, reduced by shuffles.
//
//   x (M, K), W (N, K), y (M, N), all X_T
//
// Grid (ceil(N / warps_per_block), M). Lane l takes k = l, l + 32, ...; the 32 partial sums go
// from register to register in five steps, without shared memory and without a barrier.
// claim: W 2 sectors/request, x 2 sectors/request
#include "numbers.cuh"
#include "warp_reduce.cuh"

__global__ void __launch_bounds__(MAX_THREADS_PER_BLOCK)
gemv(const X_T* x, const X_T* W, X_T* y, int N, int K) {
  const int lane_id = threadIdx.x % WARP_SIZE;
  const int n = blockIdx.x * (blockDim.x / WARP_SIZE) + threadIdx.x / WARP_SIZE;
  const size_t m = blockIdx.y;
  if (n >= N) return;

  const X_T* row = W + static_cast<size_t>(n) * K;
  float sum = 0.0f;
  for (int k = lane_id; k < K; k += WARP_SIZE) {
    sum += to_float(row[k]) * to_float(x[m * K + k]);
  }
  sum = warp_reduce_sum(sum);
  if (lane_id == 0) {
    y[m * N + n] = static_cast<X_T>(sum);
  }
}
