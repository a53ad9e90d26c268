// The product for up to 64 rows, from sm_80 on: 16-bit activations, weights of 1 to 8 bits, fp32
// accumulation. Compile with -DW_NBITS=1 to 8, and what gemm_mma.cuh asks for.
#include "copies.cuh"
#include "tensor_core.cuh"

// Names in scope: W_NBITS, as_half2, and_or.
// BEGIN HOLE prepare_pairs
// Fills what dequant_pair keeps in shared memory, up to 33 KB: here nothing. All threads of a block
// call it, before the first pairs come.
__device__ inline void prepare_pairs() {}
// END HOLE

// BEGIN HOLE dequant_pair
// The lowest bit that the code of field f has in a half, once it is shifted: bits above 9 are no
// digits of an fp16 number.
__host__ __device__ constexpr int place_of(int f) {
  return W_NBITS * f % 8 + W_NBITS <= 10 ? W_NBITS * f % 8 : 10 - W_NBITS;
}

// What code 0 of field f reads: the skeleton takes it off again, once for a part of k.
__host__ __device__ constexpr float offset_of(int f) {
  return W_NBITS == 4 ? 64.0f : place_of(f) < 2 ? 0.0f : 1024 >> place_of(f);
}

// Codes f of the two halves of `pairs` as two halves of fp16, each with its offset. With the exponent
// of 2^(10 - place), bit `place` of a half counts 1: a code that is masked there, with that exponent,
// reads 2^(10 - place) + code. At place 0 that is 1024 + code, which would cost the fp32 sums their
// digits, and at place 1 half of it: one addition brings these to their offset.
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const int bit = W_NBITS * f, place = place_of(f);
  const uint32_t mask = ((1u << W_NBITS) - 1u) * 0x00010001u << place;
  const half2 codes = as_half2(and_or(pairs >> (bit - place), mask, (25u - place) * 0x04000400u));
  return place < 2 ? __hadd2(codes, __float2half2_rn(offset_of(f) - (1024 >> place))) : codes;
}
// END HOLE

#include "gemm_mma.cuh"
