// One way to bring a vector into shared memory. Include it after what defines X_T's type.
#pragma once

// Names in scope: X_T, threadIdx, blockDim.
// BEGIN HOLE stage_to_shared
// All threads of the block copy x[0 .. K) to x_shared and fill x_shared[K .. padded_K) with 0.
// On return every thread sees every element. Call it from all threads of the block.
__device__ void stage_to_shared(const X_T* x, X_T* x_shared, int K, int padded_K) {
  for (int k = threadIdx.x; k < padded_K; k += blockDim.x) {
    x_shared[k] = k < K ? x[k] : static_cast<X_T>(0.0f);
  }
  __syncthreads();
}
// END HOLE
