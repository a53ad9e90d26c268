// The part of gemv_fast.cuh that finds codes in words.
// In scope: PLANES, FIELDS, REST.
//
// A half, 16 bits, has FIELDS codes, the first in its lowest bits. Where W_NBITS does not divide 16,
// REST bits at its top are left, and the rests of a step's HALVES, one after the other, are the codes
// of its last planes: 3 bits have five codes in each of 3 halves, and a sixteenth in their rests.
#pragma once
#include <stdint.h>

#include "tensor_core.cuh"

using Words = uint4;  // what W_packed is counted in
constexpr int REGISTERS = W_NBITS * PLANES / 8;  // of a lane for a row's words, and Words of the row
constexpr int HALVES = REGISTERS / 2;            // of each neighbour along k

// The field of a plane's codes in what pairs_of returns. Codes of a rest come to a field in which
// dequant_pair need not shift them; if a rest is one bit, to the one with bits 7 and 8.
constexpr int REST_FIELD = REST == 1 ? 7 / W_NBITS : 0;
__host__ __device__ constexpr int field_of(int plane) {
  return REST != 0 && plane >= HALVES * FIELDS ? REST_FIELD : plane % FIELDS;
}

// What a lane has of a row's words: all bits of its four neighbours along k. If their HALVES are odd,
// `two` has the last ones.
struct RowWords {
  uint4 fours[REGISTERS < 4 ? 1 : REGISTERS / 4];
  uint2 two;
};

// The codes of 4 bits of neighbour k: of planes 2 j and 2 j + 1 in byte j.
__device__ inline uint32_t word_of(const RowWords& row, int k) {
  const uint4 words = row.fours[0];
  return k < 2 ? (k == 0 ? words.x : words.y) : (k == 2 ? words.z : words.w);
}

// Halves of neighbours 2 i and 2 i + 1.
__device__ inline uint32_t halves_of(const RowWords& row, int half, int i) {
  if (HALVES % 2 == 1 && half == HALVES - 1) return i == 0 ? row.two.x : row.two.y;
  const uint4 words = row.fours[half / 2];
  if (REST != 0) {
    return half % 2 == 0 ? (i == 0 ? words.x : words.y) : (i == 0 ? words.z : words.w);
  }
  // A word has the two halves of one neighbour.
  const uint32_t first = i == 0 ? words.x : words.z, second = i == 0 ? words.y : words.w;
  return __byte_perm(first, second, half % 2 == 0 ? 0x5410 : 0x7632);
}

// Codes of neighbours 2 i and 2 i + 1 that the rests have, in field REST_FIELD. They are bits `from`
// to `end` of all rests: a shift and a mask for each half in which some of them are.
__device__ inline uint32_t pairs_of_rests(const RowWords& row, int code, int i) {
  const int from = code * W_NBITS, end = from + W_NBITS;
  uint32_t pairs = 0;
  #pragma unroll
  for (int half = 0; half < HALVES; ++half) {
    const int first = max(from, half * REST), last = min(end, (half + 1) * REST);
    if (first >= last) continue;
    const int bit = 16 - REST + first - half * REST, place = W_NBITS * REST_FIELD + first - from;
    const uint32_t mask = ((1u << (last - first)) - 1u) * 0x00010001u << place;
    pairs = and_or(halves_of(row, half, i) >> (bit - place), mask, pairs);
  }
  return pairs;
}

// The same where a rest is one bit, the sign of its half, and bit `half` of the code comes from each.
// One instruction makes bytes of two signs, for the bits below 8 and for those from there on; bit 7
// is left for a shift.
__device__ inline uint32_t pairs_of_signs(const RowWords& row, int i) {
  const int from = W_NBITS * REST_FIELD, below = 8 - from, above = W_NBITS - below;
  uint32_t pairs = halves_of(row, below - 1, i) >> 8;
  #pragma unroll
  for (int half = 0; half < above; ++half) {
    const uint32_t bytes = signs_of(halves_of(row, half, i), halves_of(row, below + half, i));
    const uint32_t mask = (1u << (from + half) | 256u << half) * 0x00010001u;
    pairs = (pairs & ~mask) | (bytes & mask);
  }
  return pairs;
}

// Registers whose field field_of(plane) has the codes of neighbours 2 i and 2 i + 1 in this plane.
__device__ inline uint32_t pairs_of(const RowWords& row, int plane, int i) {
  const int of_rests = plane - HALVES * FIELDS;
  if (of_rests < 0) return halves_of(row, plane / FIELDS, i);
  return REST == 1 ? pairs_of_signs(row, i) : pairs_of_rests(row, of_rests, i);
}
