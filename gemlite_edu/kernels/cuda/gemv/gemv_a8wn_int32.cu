// GEMV: int8 activations, 1- to 8-bit weights, exact int32 arithmetic; integer scales and zeros.
// Source: GemLite (CUDA version), "int32accint". Compile with -DW_NBITS=n -DX_T=int8_t.
// claim: x 1 sectors/request
#include "codes.cuh"
#include "integers.cuh"

// Names in scope: W_NBITS, PACK_FACTOR, CODE_MASK, CODES_PER_GROUP, WARP_SIZE, X_T.
// BEGIN HOLE dequant_dot
// Dot product of the CODES_PER_GROUP codes of `word` with the x they meet.
// The first code is in the most significant bits; code j meets x[j * WARP_SIZE].
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int sum = 0;
  #pragma unroll
  for (int j = 0; j < CODES_PER_GROUP; ++j) {
    const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zero) * x[j * WARP_SIZE];
  }
  return sum;
}
// END HOLE

#include "gemv.cuh"
