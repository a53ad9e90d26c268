// GEMV at the memory limit: 16-bit activations, weights of 1 or 2 bits, fp32 accumulation.
// There is time for fewer than two instructions to a 2-bit weight, less than one to a 1-bit weight:
// codes go to the tensor cores where they lie, each field with an offset of its own.
// Compile with -DW_NBITS=1 or 2, and what gemv_fast.cuh asks for.
#include "copies.cuh"
#include "tensor_core.cuh"

// Names in scope: W_NBITS, as_half2, and_or.
// BEGIN HOLE prepare_pairs
// Fills what dequant_pair keeps in shared memory, up to 33 KB: here nothing. All threads of a block
// call it, before the first pairs come.
__device__ inline void prepare_pairs() {}
// END HOLE

// BEGIN HOLE dequant_pair
// What code 0 of field f reads: the skeleton takes it off again, once for a part of k.
__host__ __device__ constexpr float offset_of(int f) { return 256 >> W_NBITS * f % 8; }

// Codes f of the two halves of `pairs` as two halves of fp16, each with its offset. With the exponent
// of 2^(10 - place), bit `place` of a half counts 1: a code that is masked there, with that exponent,
// reads 2^(10 - place) + code. Places from 2 on: an offset of 256 at most leaves the fp32 sums their
// digits.
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const int bit = W_NBITS * f, place = bit % 8 + 2;
  const uint32_t mask = ((1u << W_NBITS) - 1u) * 0x00010001u << place;
  return as_half2(and_or(bit < 8 ? pairs << 2 : pairs >> 6, mask, (25u - place) * 0x04000400u));
}
// END HOLE

#include "gemv_fast.cuh"
