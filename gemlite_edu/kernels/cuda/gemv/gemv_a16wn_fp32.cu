// GEMV: 16-bit activations, 1- to 8-bit weights, fp32 accumulation, scalar arithmetic.
// Source: GemLite (CUDA version), step 2 of 3. Compile with -DW_NBITS=n -DX_T=half.
// claim: x 2 sectors/request
#include "codes.cuh"
#include "numbers.cuh"
#include "warp_reduce.cuh"

// Names in scope: W_NBITS, PACK_FACTOR, CODE_MASK, CODES_PER_GROUP, WARP_SIZE, X_T, to_float(X_T).
// BEGIN HOLE dequant_dot
// Dot product of the CODES_PER_GROUP codes of `word` with the x they meet: all PACK_FACTOR of them,
// unless scales change along K. The first one is in the most significant bits; code j meets
// x[j * WARP_SIZE].
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  #pragma unroll
  for (int j = 0; j < CODES_PER_GROUP; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (static_cast<float>(code) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
// END HOLE

#include "gemv.cuh"
