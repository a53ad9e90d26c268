// GEMV at the memory limit: 16-bit activations, 1:2 sparse 7-bit weights, y^T = W x^T on tensor
// cores, ROWS <= 8 rows of x at once. Over the groups i of k, and of each pair the k that is kept,
//
//   y[m, n] = sum of scales[i, n] * sum of (W_q[n, k] - zeros[i, n]) * x[m, k]
//
//   x              (M, K)       X_T, half or __nv_bfloat16; K a multiple of 8, aligned to 16 bytes
//   W_packed       (N, K)       words of packing/sparse_1in2.py, 32 to a tile; aligned likewise
//   scales, zeros  (groups, N)  half
//   y              (M, N)       Y_T; what else it may be multiplied by: gemv_fast_blocks.cuh
//
// claim: x 16 sectors/request, W_packed 16 sectors/request, scales 1 sectors/request
#include "tensor_core.cuh"

// __byte_perm, but where digit i of the selector is 8 or above, byte i of the result is 0xFF or 0: the
// sign of the byte that the digit means without its 8.
__device__ inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
#ifdef __CUDACC__
  uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
#else
  const uint32_t bytes = __byte_perm(a, b, selector), ones = (bytes >> 7 & 0x01010101u) * 0xFFu;
  const uint32_t of_signs = __byte_perm(0x0000FF00u, 0, selector >> 3 & 0x1111u);
  return (ones & of_signs) | (bytes & ~of_signs);
#endif
}

// Two weights that are neighbours along k, and the two that are 32 further on: one of each pair is 0.
struct Pairs {
  half2 first, second;
};

// Names in scope: Pairs, as_half2, as_bits, permute.
// BEGIN HOLE dequant_pairs
// What a weight of 1 is given as: the skeleton divides by it, once for a part of k.
constexpr float UNIT = 0x1p-9f;

// The weights in a byte of two words; byte 0 is the lowest. 7 bits are the code, the bit above says
// that the first of the pair is kept. Where its exponent bits are 0, a half counts in 2^-24: a code
// alone reads code * 2^-24, and a multiply-add, which rounds once, makes (code - zero) * UNIT of it.
// Two of the selectors' digits are signs: of the byte itself, and, 0 above the code, of the code.
__device__ Pairs dequant_pairs(uint32_t word, uint32_t next, int byte, half2 zero) {
  const uint32_t is_first = permute(word, next, 0xCC88 + 0x1111 * byte);
  const uint32_t codes = permute(word & 0x7F7F7F7Fu, next & 0x7F7F7F7Fu, 0xC480 + 0x1111 * byte);
  const half2 minus_zero = zero * __float2half2_rn(-UNIT);
  const uint32_t kept =
      as_bits(__hfma2(as_half2(codes), __float2half2_rn(0x1p24f * UNIT), minus_zero));
  return {as_half2(kept & is_first), as_half2(kept & ~is_first)};
}
// END HOLE

#include "gemv_fast_sparse.cuh"
