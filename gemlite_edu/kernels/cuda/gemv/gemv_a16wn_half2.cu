// GEMV: fp16 activations, 1- to 8-bit weights, half2 accumulation within a word, fp32 beyond it.
// Two products and additions in one instruction, each rounded to 11 bits: bounds.half2_error_bound.
// Zeros are to be among the codes, 0 to CODE_MASK: far from them fp16 may overflow.
// Source: GemLite (CUDA version), "fp16acchalf2". Compile with -DW_NBITS=n -DX_T=half.
// claim: x 2 sectors/request
#include "codes.cuh"
#include "numbers.cuh"
#include "warp_reduce.cuh"

// Names in scope: W_NBITS, PACK_FACTOR, CODE_MASK, CODES_PER_GROUP, WARP_SIZE, X_T.
// BEGIN HOLE dequant_dot
// fp16 ends at 65504, so weights are taken as fractions: where the zero is one of the codes, the
// TERMS products that one half adds up stay below the largest |x|.
constexpr int TERMS = PACK_FACTOR > 16 ? 16 : PACK_FACTOR > 8 ? 8 : PACK_FACTOR > 4 ? 4 : 2;
constexpr float SCALE_DOWN = 1.0f / (TERMS << W_NBITS);

// Code j as a half, which is exact; 0 behind the last code.
__device__ half code_at(uint32_t word, int j) {
  return __float2half(j < CODES_PER_GROUP ? (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK : 0);
}

// Dot product of the CODES_PER_GROUP codes of `word` with the x they meet.
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const half2 scale = __float2half2_rn(SCALE_DOWN), minus_zero = __float2half2_rn(-zero * SCALE_DOWN);
  half2 sum = __float2half2_rn(0.0f);
  #pragma unroll
  for (int j = 0; j < CODES_PER_GROUP; j += 2) {
    const half2 codes = __halves2half2(code_at(word, j), code_at(word, j + 1));
    const half second = j + 1 < CODES_PER_GROUP ? x[(j + 1) * WARP_SIZE] : __float2half(0.0f);
    sum = __hfma2(__hfma2(codes, scale, minus_zero), __halves2half2(x[j * WARP_SIZE], second), sum);
  }
  return (__low2float(sum) + __high2float(sum)) * (1.0f / SCALE_DOWN);
}
// END HOLE

#include "gemv.cuh"
