// y = x Wᵀ with unquantized weights, one warp per output, x staged in shared memory.
//
//   x (M, K), W (N, K), y (M, N), all X_T
//
// Grid (ceil(N / warps_per_block), M). The block copies x once; its 32 warps, 32 rows of W,
// read it from there. Dynamic shared memory: K * sizeof(X_T) bytes.
// claim: W 2 sectors/request, x 2 sectors/request, x_shared conflict-free
#include "numbers.cuh"
#include "memory.cuh"
#include "warp_reduce.cuh"
// BEGIN HOLE gemv
__global__ void __launch_bounds__(MAX_THREADS_PER_BLOCK)
gemv(const X_T* x, const X_T* W, X_T* y, int N, int K) {
  extern __shared__ X_T x_shared[];
  const int lane_id = threadIdx.x % WARP_SIZE;
  const int n = blockIdx.x * (blockDim.x / WARP_SIZE) + threadIdx.x / WARP_SIZE;
  const size_t m = blockIdx.y;

  stage_to_shared(x + m * K, x_shared, K, K);

  float sum = 0.0f;
  if (n < N) {
    const X_T* row = W + static_cast<size_t>(n) * K;
    for (int k = lane_id; k < K; k += WARP_SIZE) {
      sum += to_float(row[k]) * to_float(x_shared[k]);
    }
  }
  sum = warp_reduce_sum(sum);
  if (n < N && lane_id == 0) {
    y[m * N + n] = static_cast<X_T>(sum);
  }
}
// END HOLE
