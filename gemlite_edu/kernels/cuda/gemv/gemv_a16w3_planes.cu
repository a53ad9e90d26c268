// GEMV: 16-bit activations, 3-bit weights in a plane of 2 bits and a plane of 1 bit, fp32
// accumulation: 32 codes in three words, no bit idle. Layout: packing/bit_planes.py.
// Compile with -DX_T=half.
// claim: x 2 sectors/request
#include <stdint.h>

#include "numbers.cuh"
#include "warp_reduce.cuh"

constexpr int PACK_FACTOR = 32;  // codes that a lane reads in a step
constexpr int WORDS_PER_TILE = 3 * WARP_SIZE;

// The first code is in the most significant bits of both planes.
struct Word {
  uint64_t low;   // 2 bits a code
  uint32_t high;  // 1 bit a code
};

__device__ inline Word load_word(const uint32_t* row, int tile, int num_tiles) {
  const uint32_t* words = &row[tile * WORDS_PER_TILE + threadIdx.x % WARP_SIZE];
  const uint64_t first_16 = __ldg(&words[0]);
  return {first_16 << 32 | __ldg(&words[WARP_SIZE]), __ldg(&words[2 * WARP_SIZE])};
}

// Without its first j codes: code j is now the first one.
__device__ inline Word from_code(Word word, int j) { return {word.low << (2 * j), word.high << j}; }

// Names in scope: PACK_FACTOR, CODES_PER_GROUP, WARP_SIZE, X_T, to_float(X_T), Word.
// BEGIN HOLE dequant_dot
// Dot product of the CODES_PER_GROUP codes of `word` with the x they meet.
// Code j meets x[j * WARP_SIZE].
__device__ float dequant_dot(Word word, const X_T* x, float zero) {
  float sum = 0.0f;
  #pragma unroll
  for (int j = 0; j < CODES_PER_GROUP; ++j) {
    const uint32_t code = (word.low >> (62 - 2 * j) & 3u) | (word.high >> (31 - j) & 1u) << 2;
    sum += (static_cast<float>(code) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
// END HOLE

#include "gemv.cuh"
