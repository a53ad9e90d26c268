// GEMV: 16-bit activations, 1:2 sparse 7-bit weights, fp32 accumulation.
// A byte stands for a pair of weights, WARP_SIZE apart in k: 7 bits of code, and bit 7 set if the
// first of the pair is kept. The other is 0, and its x is not read. Layout: packing/sparse_1in2.py.
// Source: GemLite's blog post, case study. Compile with -DX_T=half.
// claim: x 2 sectors/request
#include "numbers.cuh"
#include "warp_reduce.cuh"
#include "words.cuh"

constexpr int PACK_FACTOR = 8;  // weights that a word stands for: four pairs
constexpr uint32_t CODE_MASK = 0x7fu, FIRST_KEPT = 0x80u;

// The word from weight j on. For an odd j its first bit is flipped, so that it says whether weight j
// itself is kept.
__device__ inline uint32_t from_code(uint32_t word, int j) {
  return (word << (8 * (j / 2))) ^ (j % 2 ? FIRST_KEPT << 24 : 0);
}

// Names in scope: PACK_FACTOR, CODE_MASK, FIRST_KEPT, CODES_PER_GROUP, WARP_SIZE, X_T, to_float(X_T).
// BEGIN HOLE dequant_dot
// Dot product of the first CODES_PER_GROUP weights of `word` with the x they meet. The first pair is
// in the most significant byte; pair p meets x[2 * p * WARP_SIZE] or x[(2 * p + 1) * WARP_SIZE].
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  #pragma unroll
  for (int p = 0; 2 * p < CODES_PER_GROUP; ++p) {
    const uint32_t pair = word >> (24 - 8 * p);
    const int kept = pair & FIRST_KEPT ? 2 * p : 2 * p + 1;
    if (kept < CODES_PER_GROUP) {  // else the kept one of this pair is in the next group
      sum += (static_cast<float>(pair & CODE_MASK) - zero) * to_float(x[kept * WARP_SIZE]);
    }
  }
  return sum;
}
// END HOLE

#include "gemv.cuh"
