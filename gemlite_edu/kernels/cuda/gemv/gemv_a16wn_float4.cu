// GEMV: 16-bit activations, 1- to 8-bit weights, four fp32 accumulators.
// Within a word an addition waits for the fourth before it, not for the one before it.
// Source: GemLite (CUDA version), "fp32accfloat4". Compile with -DW_NBITS=n -DX_T=half.
// claim: x 2 sectors/request
#include "codes.cuh"
#include "numbers.cuh"
#include "warp_reduce.cuh"

// Names in scope: W_NBITS, PACK_FACTOR, CODE_MASK, CODES_PER_GROUP, WARP_SIZE, X_T, to_float(X_T).
// BEGIN HOLE dequant_dot
// (code j - zero) * x[j * WARP_SIZE]; 0 behind the last code.
__device__ float product(uint32_t word, int j, const X_T* x, float zero) {
  if (j >= CODES_PER_GROUP) return 0.0f;
  const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
  return (static_cast<float>(code) - zero) * to_float(x[j * WARP_SIZE]);
}

// Dot product of the CODES_PER_GROUP codes of `word` with the x they meet.
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  #pragma unroll
  for (int j = 0; j < CODES_PER_GROUP; j += 4) {
    sum.x += product(word, j, x, zero);
    sum.y += product(word, j + 1, x, zero);
    sum.z += product(word, j + 2, x, zero);
    sum.w += product(word, j + 3, x, zero);
  }
  return (sum.x + sum.y) + (sum.z + sum.w);
}
// END HOLE

#include "gemv.cuh"
