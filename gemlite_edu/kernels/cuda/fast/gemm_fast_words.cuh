// The part of gemm_fast.cuh that brings words, and takes codes out of them. The words of a step, Words
// of BLOCK_N rows, lie as in W_packed: of two halves of all rows, of the next two, and of the last.
#pragma once
#include "bulk_copies.cuh"
#include "words_of_rows.cuh"

// Where code 0 reads another number in each field, dequant_plane takes that off, and none is left.
constexpr bool has_one_offset(int f) {
  return f == FIELDS || (offset_of(f) == offset_of(0) && has_one_offset(f + 1));
}
constexpr bool HAS_ONE_OFFSET = has_one_offset(0);
constexpr float OFFSET = HAS_ONE_OFFSET ? offset_of(0) : 0.0f;

// Where word i of a row lies.
__device__ inline int word_at(int row, int i) {
  return i / 4 * 4 * BLOCK_N + row * (i < FOURS * 4 ? 4 : 2) + i % 4;
}

// Brings those of `rows` rows from first_n on. from: the step's words of all N rows.
__device__ inline void bring_words(uint4* to, const uint4* from, size_t N, int first_n, int rows,
                                   uint64_t* full) {
  #pragma unroll
  for (int i = 0; i < FOURS; ++i) {
    bulk_copy_once(&to[i * 4 * BLOCK_N], &from[(i * N + first_n) * 4], rows * 64, full);
  }
  if (REGISTERS % 4 == 2) {
    const uint4* last = &from[FOURS * 4 * N + first_n * 2];
    bulk_copy_once(&to[FOURS * 4 * BLOCK_N], last, rows * 32, full);
  }
}

__device__ inline void load_words(const uint4* from, int warp_n, RowWords words[TILES * 2]) {
  #pragma unroll
  for (int i = 0; i < TILES * 2; ++i) words[i] = words_of(from, BLOCK_N, row_of(warp_n, i));
}

// What multiply_add takes of a plane: of rows g and g + 8 the first pair, then the second.
__device__ inline void dequant_plane(const RowWords words[2], int plane, half2 codes[4]) {
  const int field = field_of(plane);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    codes[i] = dequant_pair(pairs_of(words[i % 2], plane, i / 2), field);
    if (!HAS_ONE_OFFSET) codes[i] = __hsub2(codes[i], __float2half2_rn(offset_of(field)));
  }
}
