// The part of gemm_fast.cuh that knows what lane 4 g + t takes of the words of a stage: of rows g and
// g + 8 of each 16, words 4 t to 4 t + 3.
#pragma once

// Neighbours in k, in the lower and the upper half of a register: fields of the lower halves of the
// first two words and of the last two, then those of the upper halves.
struct Pairs {
  uint32_t of[4];
};

// Of the lane's rows from warp_n on, in this order: g, g + 8, 16 + g, 24 + g.
__device__ inline int row_of(int warp_n, int i) {
  return warp_n + i * 8 + threadIdx.x % WARP_SIZE / 4;
}

__device__ inline void load_pairs(const Stage& from, int warp_n, Pairs pairs[TILES * 2]) {
  #pragma unroll
  for (int i = 0; i < TILES * 2; ++i) {
    const uint4 words = from.words[row_of(warp_n, i)][threadIdx.x % 4];
    pairs[i] = {{__byte_perm(words.x, words.y, 0x5410), __byte_perm(words.z, words.w, 0x5410),
                 __byte_perm(words.x, words.y, 0x7632), __byte_perm(words.z, words.w, 0x7632)}};
  }
}

// What multiply_add takes of a plane: of rows g and g + 8 the first pair, then the second.
__device__ inline void dequant_plane(const Pairs pairs[2], int plane, half2 codes[4]) {
  const int half = plane / FIELDS * 2;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    codes[i] = dequant_pair(pairs[i % 2].of[half + i / 2], plane % FIELDS);
  }
}
