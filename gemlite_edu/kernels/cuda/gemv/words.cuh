// Packed weights that a lane reads one 32-bit word at a time; the file that includes this says how
// many codes a word stands for (PACK_FACTOR), and how to leave the first of them out (from_code).
#pragma once
#include <stdint.h>

#include "warp.cuh"

using Word = uint32_t;
constexpr int WORDS_PER_TILE = WARP_SIZE;

// Names in scope: WARP_SIZE, threadIdx.
// BEGIN HOLE load_word
// The word of a row that this lane takes in step `tile`; its first code is k = tile * TILE + lane.
__device__ uint32_t load_word(const uint32_t* row, int tile, int num_tiles) {
  const int lane_id = threadIdx.x % WARP_SIZE;
  return __ldg(&row[tile * WARP_SIZE + lane_id]);
}
// END HOLE
