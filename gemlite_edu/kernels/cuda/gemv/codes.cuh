// Words of W_NBITS-bit codes: packing/warp_interleaved.py. The first code is in the most
// significant bits, and the codes of a word are WARP_SIZE apart in k.
#pragma once
#include "words.cuh"

constexpr int PACK_FACTOR = 32 / W_NBITS;              // codes in a word
constexpr uint32_t CODE_MASK = (1u << W_NBITS) - 1u;   // the lowest W_NBITS bits

// The word without its first j codes: code j is now the first one.
__device__ inline uint32_t from_code(uint32_t word, int j) { return word << (W_NBITS * j); }
