// What lane 4 g + t of a product takes of the words of a step that are in shared memory: of rows g and
// g + 8 of each 16, codes 4 t to 4 t + 3 of every plane.
#pragma once
#include "gemv_fast_words.cuh"

constexpr int FOURS = REGISTERS / 4;  // times four Words of a row lie together; two more may be left

// Of the lane's rows from warp_n on, in this order: g, g + 8, 16 + g, 24 + g.
__device__ inline int row_of(int warp_n, int i) {
  return warp_n + i * 8 + threadIdx.x % WARP_SIZE / 4;
}

// The lane's words of a row, out of those of `rows` rows, which lie as in W_packed: of two halves, of
// the next two, of the last.
__device__ inline RowWords words_of(const uint4* words, int rows, int row) {
  const int at = row * 4 + threadIdx.x % 4;
  RowWords own;
  #pragma unroll
  for (int i = 0; i < FOURS; ++i) own.fours[i] = words[i * rows * 4 + at];
  if (REGISTERS % 4 == 2) own.two = reinterpret_cast<const uint2*>(&words[FOURS * rows * 4])[at];
  return own;
}
