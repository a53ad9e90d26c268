// y = x Wᵀ with unquantized weights, one thread per output: the obvious kernel.
//
//   x (M, K), W (N, K), y (M, N), all X_T
//
// Grid (ceil(N / threads_per_block), M). Thread n walks along row n of W by itself, so at each
// step the 32 lanes of a warp read 32 addresses that lie K elements apart.
// claim: W 32 sectors/request, x 1 sectors/request
#include "numbers.cuh"
#include "warp.cuh"

__global__ void __launch_bounds__(MAX_THREADS_PER_BLOCK)
gemv(const X_T* x, const X_T* W, X_T* y, int N, int K) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  const size_t m = blockIdx.y;
  if (n >= N) return;

  const X_T* row = W + static_cast<size_t>(n) * K;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += to_float(row[k]) * to_float(x[m * K + k]);
  }
  y[m * N + n] = static_cast<X_T>(sum);
}
