// GEMV at the memory limit: 16-bit activations, weights of 4 to 8 bits, fp32 accumulation.
// Compile with -DCODE_NBITS=4 to 8, -DW_NBITS, the width of a field: 4 or 8, and what gemv_fast.cuh
// asks for.
#include "tensor_core.cuh"

// Names in scope: W_NBITS, as_half2, and_or.
// BEGIN HOLE prepare_pairs
// Fills what dequant_pair keeps in shared memory, up to 32 KB: here nothing. All threads of a block
// call it, before the first pairs come.
__device__ inline void prepare_pairs() {}
// END HOLE

// BEGIN HOLE dequant_pair
// What code 0 of field f reads: the skeleton takes it off again, once for a part of k.
__host__ __device__ constexpr float offset_of(int f) { return W_NBITS == 4 ? 64.0f : 0.0f; }

// Codes f of the two halves of `pairs` as two halves of fp16, each with its offset. With the exponent
// of 2^(10 - place), bit `place` of a half counts 1: a code that is masked there, with that exponent,
// reads 2^(10 - place) + code. At place 4 that is 64 + code. At place 0 it is 1024 + code, which
// would cost the fp32 sums their digits: one addition brings it to its offset.
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const int bit = W_NBITS * f, place = bit % 8;
  const uint32_t mask = ((1u << W_NBITS) - 1u) * 0x00010001u << place;
  const half2 codes = as_half2(and_or(pairs >> (bit - place), mask, (25u - place) * 0x04000400u));
  return place == 0 ? __hadd2(codes, __float2half2_rn(offset_of(f) - 1024.0f)) : codes;
}
// END HOLE

#include "gemv_fast.cuh"
