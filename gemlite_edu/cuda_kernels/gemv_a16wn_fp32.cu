// GEMV: 16-bit activations, 1- to 8-bit weights, fp32 accumulation, scalar arithmetic.
// Source: seed 000 (GemLite, CUDA version), step 2 of 3. Compile with -DW_NBITS=n -DX_T=half.
#include <stdint.h>

#include "numbers.cuh"
#include "warp.cuh"

constexpr int PACK_FACTOR = 32 / W_NBITS;              // codes in a word
constexpr uint32_t CODE_MASK = (1u << W_NBITS) - 1u;   // the lowest W_NBITS bits

// Names in scope: W_NBITS, PACK_FACTOR, CODE_MASK, WARP_SIZE, X_T, to_float(X_T).
// BEGIN HOLE dequant_dot
// Dot product of the PACK_FACTOR codes in `word` with the x they meet.
// The first code is in the most significant bits; code j meets x[j * WARP_SIZE].
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  #pragma unroll
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (static_cast<float>(code) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
// END HOLE

#include "gemv.cuh"
