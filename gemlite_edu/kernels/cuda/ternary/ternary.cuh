// Ternary weights times int8 activations: the codes, and what becomes of a sum over K.
//
//   y[m, n] = token_scales[m] * scales[n] * sum over k of (code[n, k] - 2) * x[m, k]
//
// Y_T is half or __nv_bfloat16; or int, where y is the sum alone and the scales are not read.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

constexpr int TILE_N = 16, TILE_K = 32;               // BitNet's tile of codes, 128 bytes
constexpr int PIECES_OF_A_TILE = 8;                   // of 16 bytes: 4 words, 16 k of 4 outputs each

// First output and first k of a piece in its tile.
struct PiecePlace {
  int n, k;
};
__device__ inline PiecePlace place_of_piece(int piece) {
  return {piece % 2 * 4 + piece / 4 * 8, piece / 2 % 2 * 16};
}

// Names in scope: nothing but CUDA's.
// BEGIN HOLE four_codes
// Codes 4 i to 4 i + 3 of a word, i from 0 to 3, one in each byte, the first one lowest.
// Code e stands in byte e % 4 of the word, at bit 2 * (e / 4) of that byte.
__device__ uint32_t four_codes(uint32_t word, int i) { return word >> 2 * i & 0x03030303; }
// END HOLE

// The weights code - 2, -2 to 1, as signed bytes. 126 more in each byte carries nowhere; the sign
// bits that are then wrong in all four are turned.
__device__ inline uint32_t four_weights(uint32_t word, int i) {
  return (four_codes(word, i) + 0x7E7E7E7E) ^ 0x80808080;
}

__device__ inline void write_y(int* y, int sum, const float*, const float*, size_t, int) { *y = sum; }

template <typename T>
__device__ void write_y(T* y, int sum, const float* token_scales, const float* scales, size_t m, int n) {
  *y = static_cast<T>(static_cast<float>(sum) * (token_scales[m] * scales[n]));
}
