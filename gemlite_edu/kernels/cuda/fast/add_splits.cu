// y (M, N) of the sums (splits, M, N) float that blocks of gemm_mma.cuh have of their own steps along
// K, always added in the same order. Grid (ceil(N / THREADS), M): a thread finishes one output with
// whatever is there of channel_scales (N), token_scales (M) and bias (N), as gemm_mma.cuh does.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int THREADS = 128;

__global__ void __launch_bounds__(THREADS)
add_splits(const float* sums, const CHANNEL_T* channel_scales, const float* token_scales,
           const BIAS_T* bias, Y_T* y, int M, int N, int splits) {
  const int n = blockIdx.x * THREADS + threadIdx.x, m = blockIdx.y;
  if (n >= N) return;
  const size_t at = static_cast<size_t>(m) * N + n, size = static_cast<size_t>(M) * N;
  float sum = 0.0f;
  #pragma unroll 8
  for (int split = 0; split < splits; ++split) sum += sums[split * size + at];
  if (channel_scales) sum *= static_cast<float>(channel_scales[n]);
  if (token_scales) sum *= token_scales[m];
  if (bias) sum += static_cast<float>(bias[n]);
  y[at] = static_cast<Y_T>(sum);
}
