// The product for batches at the memory limit: fp16 activations, weights of 1 to 8 bits, fp32
// accumulation, on Hopper. Compile with -DW_NBITS=1 to 8, and what gemm_fast.cuh asks for.
#include "copies.cuh"
#include "tensor_core.cuh"

// Names in scope: W_NBITS, as_half2, and_or.
// BEGIN HOLE prepare_pairs
// Fills what dequant_pair keeps in shared memory, up to 33 KB: here nothing. All threads of a block
// call it, before the first pairs come.
__device__ inline void prepare_pairs() {}
// END HOLE

// BEGIN HOLE dequant_pair
// What code 0 of field f reads: the skeleton takes it off again, soonest where it is the same for all f.
__host__ __device__ constexpr float offset_of(int f) { return 1024 >> (8 - W_NBITS); }

// Codes f of the two halves of `pairs` as two halves of fp16, each with its offset. With the exponent
// of 2^(10 - place), bit `place` of a half counts 1: a code that is moved there, with that exponent,
// reads 2^(10 - place) + code.
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const int bit = W_NBITS * f, place = 8 - W_NBITS;
  const uint32_t moved = bit < place ? pairs << (place - bit) : pairs >> (bit - place);
  const uint32_t mask = ((1u << W_NBITS) - 1u) * 0x00010001u << place;
  return as_half2(and_or(moved, mask, (25u - place) * 0x04000400u));
}
// END HOLE

#include "gemm_fast.cuh"
