// One tensor-core instruction, and what it wants beside it.
#pragma once
#include <cuda_fp16.h>
#include <stdint.h>

#include "warp.cuh"

__device__ inline half2 as_half2(uint32_t bits) {
  half2 pair;
  memcpy(&pair, &bits, sizeof(pair));
  return pair;
}
__device__ inline uint32_t as_bits(half2 pair) {
  uint32_t bits;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

// Byte `byte` of a word: codes of two neighbouring fields.
struct InByte {
  uint32_t word;
  int byte;
};

// (word & mask) | bits in one instruction. Left to itself nvcc takes two: an instruction holds one
// constant, and it does not think of keeping the other in a register.
__device__ inline uint32_t and_or(uint32_t word, uint32_t mask, uint32_t bits) {
#ifdef __CUDACC__
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "r"(mask), "r"(bits));
  return result;
#else
  return (word & mask) | bits;
#endif
}

// The signs of the halves of two words, each in all bits of a byte: those of `first` in the lower
// bytes of the halves, those of `second` in the upper ones.
__device__ inline uint32_t signs_of(uint32_t first, uint32_t second) {
#ifdef __CUDACC__
  uint32_t bytes;
  asm("prmt.b32 %0, %1, %2, 0xfbd9;" : "=r"(bytes) : "r"(first), "r"(second));
  return bytes;
#else
  return (first >> 15 & 0x00010001u) * 0xFFu | (second >> 15 & 0x00010001u) * 0xFF00u;
#endif
}

#ifndef __CUDACC__
// What a lane's two halves of A and of B add to a dot product.
inline float dot(uint32_t a, uint32_t b) {
  const float2 left = __half22float2(as_half2(a)), right = __half22float2(as_half2(b));
  return left.x * right.x + left.y * right.y;
}
#endif

// c += A b of a whole warp: A has 16 rows of 16 halves, b 8 columns of 16 halves, c is float.
// With g = lane / 4 and t = lane % 4 a lane holds, two neighbours in k in each register,
//   A   row g at k = 2t, row g + 8 at 2t, row g at 2t + 8, row g + 8 at 2t + 8
//   b   column g at k = 2t, and at 2t + 8
//   c   row g, columns 2t and 2t + 1; row g + 8, columns 2t and 2t + 1
__device__ inline void multiply_add(float* c, half2 a0, half2 a1, half2 a2, half2 a3, uint32_t b0,
                                    uint32_t b1) {
  const uint32_t a[] = {as_bits(a0), as_bits(a1), as_bits(a2), as_bits(a3)};
#if !defined(__CUDACC__)  // the simulator: lanes tell each other what they hold
  const int lane_id = threadIdx.x % WARP_SIZE, g = lane_id / 4, t = lane_id % 4;
  for (int other = 0; other < 4; ++other) {
    uint32_t row[4];
    for (int i = 0; i < 4; ++i) row[i] = __shfl_sync(FULL_WARP, a[i], 4 * g + other);
    for (int j = 0; j < 2; ++j) {
      const int source = 4 * (2 * t + j) + other;
      const uint32_t first = __shfl_sync(FULL_WARP, b0, source);
      const uint32_t second = __shfl_sync(FULL_WARP, b1, source);
      c[j] += dot(row[0], first) + dot(row[2], second);
      c[2 + j] += dot(row[1], first) + dot(row[3], second);
    }
  }
#elif __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else  // Turing: the same in two steps of k
  for (int half_k = 0; half_k < 2; ++half_k) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[2 * half_k]), "r"(a[2 * half_k + 1]), "r"(half_k == 0 ? b0 : b1));
  }
#endif
}
