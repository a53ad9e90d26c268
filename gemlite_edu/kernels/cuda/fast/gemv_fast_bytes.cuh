// The part of gemv_fast.cuh for a hole that decodes the codes of two planes in a byte at once.
// In scope: PLANE, PART, HALVES, FIELDS, and of gemv_fast_words.cuh what finds words.
#pragma once
#include <type_traits>

#include "gemv_fast_words.cuh"

// Whether the hole has a dequant_pair for a byte.
template <typename Codes, typename = half2>
struct Decodes : std::false_type {};
template <typename Codes>
struct Decodes<Codes, decltype(dequant_pair(std::declval<Codes>()))> : std::true_type {};
constexpr bool IN_BYTES = Decodes<InByte>::value;

// Whether a byte has the codes of this plane and the next, once its half is shifted by a bit or not.
__host__ __device__ constexpr bool shares_byte(int plane) {
  if (W_NBITS == 3) return plane < HALVES * FIELDS && plane % FIELDS % 3 == 0;
  return W_NBITS == 4 && plane % 2 == 0;
}

// Whether a plane's codes are taken from bytes, together with the next plane's of the same part.
__host__ __device__ constexpr bool is_in_bytes(int plane) {
  constexpr int PART_PLANES = PART / PLANE;
  return IN_BYTES && shares_byte(plane) && plane / PART_PLANES == (plane + 1) / PART_PLANES;
}

// The byte that has the codes of neighbour k in this plane and the next, in its lowest bits.
template <typename Codes>
__device__ inline Codes byte_of(const RowWords& row, int plane, int k) {
  if (W_NBITS == 4) return Codes{word_of(row, k), plane / 2};
  const uint32_t halves = halves_of(row, plane / FIELDS, k / 2);
  const bool is_upper = plane % FIELDS == 3;
  return Codes{is_upper ? halves >> 1 : halves, k % 2 * 2 + is_upper};
}
