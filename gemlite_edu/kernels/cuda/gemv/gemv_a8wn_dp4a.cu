// GEMV: int8 activations, 1- to 8-bit weights, four products at a time with __dp4a into int32;
// integer scales and zeros. A signed byte ends at 127, so the zero stays outside the products:
//   sum (code - zero) * x = sum (code - OFFSET) * x + (OFFSET - zero) * sum x
// Source: GemLite (CUDA version), "int32accchar4". Compile with -DW_NBITS=n -DX_T=int8_t.
// claim: x 1 sectors/request
#include "codes.cuh"
#include "integers.cuh"

// Names in scope: W_NBITS, PACK_FACTOR, CODE_MASK, CODES_PER_GROUP, WARP_SIZE, X_T.
// BEGIN HOLE dequant_dot
constexpr int OFFSET = W_NBITS == 8 ? 128 : 0;  // codes of up to 7 bits are signed bytes as they are
constexpr int ONES = 0x01010101;

// Dot product of the CODES_PER_GROUP codes of `word` with the x they meet.
// The first code is in the most significant bits; code j meets x[j * WARP_SIZE].
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int dot = 0, sum_x = 0;
  #pragma unroll
  for (int first = 0; first < CODES_PER_GROUP; first += 4) {
    uint32_t codes = 0, four_x = 0;
    #pragma unroll
    for (int j = first; j < first + 4 && j < CODES_PER_GROUP; ++j) {
      const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
      codes |= (code ^ OFFSET) << 8 * (j - first);  // of 8 bits: the signed byte code - 128
      four_x |= static_cast<uint32_t>(static_cast<uint8_t>(x[j * WARP_SIZE])) << 8 * (j - first);
    }
    dot = __dp4a(static_cast<int>(four_x), static_cast<int>(codes), dot);
    sum_x = __dp4a(static_cast<int>(four_x), ONES, sum_x);
  }
  return dot + (OFFSET - zero) * sum_x;
}
// END HOLE

#include "gemv.cuh"
