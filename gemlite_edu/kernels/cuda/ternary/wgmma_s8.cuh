// wgmma of signed bytes, with int sums: A in registers, B in shared memory. Each warp brings 16 rows
// of A. With g = lane / 4 and t = lane % 4 a lane holds, four neighbours in k in each register,
//   A     row g at k = 4t, row g + 8 at 4t, row g at 4t + 16, row g + 8 at 4t + 16
//   sums  of each 8 columns: row g, columns 2t and 2t + 1; row g + 8, columns 2t and 2t + 1
#pragma once
#include "wgmma.cuh"

#ifdef __CUDACC__
// cp.async writes shared memory as threads do; wgmma reads it another way, behind this fence.
__device__ inline void show_copies_to_wgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void group_hold(int& sum) { asm volatile("" : "+r"(sum)::"memory"); }
__device__ inline void group_hold(uint32_t& bytes) { asm volatile("" : "+r"(bytes)::"memory"); }

// (word & mask) ^ bits in one instruction: tensor_core.cuh says why, of and_or.
__device__ inline uint32_t and_xor(uint32_t word, uint32_t mask, uint32_t bits) {
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(result) : "r"(word), "r"(mask), "r"(bits));
  return result;
}

#define FOUR_INTS(c) "+r"((c)[0]), "+r"((c)[1]), "+r"((c)[2]), "+r"((c)[3])
#define INTS_16(c) FOUR_INTS((c)[0]), FOUR_INTS((c)[1])
#define INTS_32(c) INTS_16(c), INTS_16((c) + 2)
#define INTS_64(c) INTS_32(c), INTS_32((c) + 4)
#define INTS_128(c) INTS_64(c), INTS_64((c) + 8)
#define WGMMA_S8(columns, sums, rest)                                                    \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k32.s32.s8.s8 {" sums rest  \
               ", 1;"                                                                    \
               : INTS_##columns(c)                                                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))

// c += A b for 64 rows of A and `columns` columns of b. b: of a column 16 k in a piece, the pieces of
// the next columns 16 bytes on, those of the next 16 k 16 * stride bytes on.
template <int columns, int stride>
__device__ inline void group_multiply_add(int (*c)[4], const uint32_t* a, GroupOperand place) {
  const uint64_t b = static_cast<uint64_t>(128 / 16) << 32 | (stride << 16 | place);
  if constexpr (columns == 16) {
    WGMMA_S8(16, "", "%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12");
  } else if constexpr (columns == 32) {
    WGMMA_S8(32, ONES, "%10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20");
  } else if constexpr (columns == 64) {
    WGMMA_S8(64, ONES TENS(1) TENS(2), "%30, %31}, {%32, %33, %34, %35}, %36");
  } else {
    static_assert(columns == 128, "the others of wgmma are not written out");
    WGMMA_S8(128, ONES TENS(1) TENS(2) TENS(3) TENS(4) TENS(5),
             "%60, %61, %62, %63}, {%64, %65, %66, %67}, %68");
  }
}
#else  // the simulator: each warp by itself, with what B holds now
inline void show_copies_to_wgmma() {}
inline void group_hold(int&) {}
inline void group_hold(uint32_t&) {}
inline uint32_t and_xor(uint32_t word, uint32_t mask, uint32_t bits) { return (word & mask) ^ bits; }

// What four k of two rows add to a lane's sums, of columns whose bytes are in `left` and `right`.
inline void add_four(int* c, uint32_t row, uint32_t row_8_on, uint32_t left, uint32_t right) {
  c[0] = __dp4a(static_cast<int>(row), static_cast<int>(left), c[0]);
  c[1] = __dp4a(static_cast<int>(row), static_cast<int>(right), c[1]);
  c[2] = __dp4a(static_cast<int>(row_8_on), static_cast<int>(left), c[2]);
  c[3] = __dp4a(static_cast<int>(row_8_on), static_cast<int>(right), c[3]);
}

template <int columns, int stride>
inline void group_multiply_add(int (*c)[4], const uint32_t* a, GroupOperand b) {
  const int g = threadIdx.x % WARP_SIZE / 4, t = threadIdx.x % 4;
  for (int half = 0; half < 2; ++half) {
    for (int four = 0; four < 4; ++four) {  // lanes tell each other what they hold of A
      const uint32_t row = __shfl_sync(FULL_WARP, a[2 * half], 4 * g + four);
      const uint32_t row_8_on = __shfl_sync(FULL_WARP, a[2 * half + 1], 4 * g + four);
      for (int first = 0; first < columns; first += 8) {
        const uint32_t* of = reinterpret_cast<const uint32_t*>(&b[half * stride + first + 2 * t]);
        add_four(c[first / 8], row, row_8_on, of[four], of[4 + four]);
      }
    }
  }
}
#endif
