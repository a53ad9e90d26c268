// wgmma of halves, with float sums: A in registers, B in boxes of row_boxes.cuh. Each warp brings 16
// rows of A and gets their sums, laid out as multiply_add's: tensor_core.cuh.
#pragma once
#include "row_boxes.cuh"
#include "wgmma.cuh"

#ifdef __CUDACC__
// The compiler may not move what makes or reads this register across: it does not know that wgmma
// goes on while the warp does.
__device__ inline void group_hold(float& value) { asm volatile("" : "+f"(value)::"memory"); }
__device__ inline void group_hold(half2& pair) {
  asm volatile("" : "+r"(reinterpret_cast<uint32_t&>(pair))::"memory");
}

#define FOUR(c) "+f"((c)[0]), "+f"((c)[1]), "+f"((c)[2]), "+f"((c)[3])
#define SUMS_32(c) FOUR((c)[0]), FOUR((c)[1]), FOUR((c)[2]), FOUR((c)[3])
#define SUMS_64(c) SUMS_32(c), SUMS_32((c) + 4)
#define SUMS_128(c) SUMS_64(c), SUMS_64((c) + 8)
#define SUMS_176(c) SUMS_128(c), SUMS_32((c) + 16), FOUR((c)[20]), FOUR((c)[21])
#define SUMS_256(c) SUMS_128(c), SUMS_128((c) + 16)
#define WGMMA(rows, sums, rest)                                                     \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #rows "k16.f32.f16.f16 {" sums rest \
               ", 1, 1, 1, 0;"                                                      \
               : SUMS_##rows(c)                                                     \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))

// c += A b for 64 rows of A, `rows` columns of b, and the 16 k of a plane; b: boxes of row_boxes.cuh.
// Their pieces lie as wgmma's swizzle of 128 bytes (1 << 62) has them, and eight columns take 1024
// bytes. This layout ignores the other stride (1 << 16). Of all that only `place` differs by plane, and
// only its lower word: an instruction makes it.
template <int rows>
__device__ inline void group_multiply_add(float (*c)[4], const half2* weights, GroupOperand boxes,
                                          int plane) {
  const uint32_t a[] = {as_bits(weights[0]), as_bits(weights[1]), as_bits(weights[2]),
                        as_bits(weights[3])};
  constexpr int PLANES_OF_A_BOX = BOX_K / 16;
  const uint32_t place = (boxes | 1u << 16) + plane / PLANES_OF_A_BOX * (BOX_PIECES * rows) +
                         plane % PLANES_OF_A_BOX * 2;
  const uint64_t b = 1ull << 62 | static_cast<uint64_t>(1024 / 16) << 32 | place;
  if constexpr (rows == 32) {
    WGMMA(32, ONES, "%10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20");
  } else if constexpr (rows == 64) {
    WGMMA(64, ONES TENS(1) TENS(2), "%30, %31}, {%32, %33, %34, %35}, %36");
  } else if constexpr (rows == 128) {
    WGMMA(128, ONES TENS(1) TENS(2) TENS(3) TENS(4) TENS(5),
          "%60, %61, %62, %63}, {%64, %65, %66, %67}, %68");
  } else if constexpr (rows == 176) {
    WGMMA(176, ONES TENS(1) TENS(2) TENS(3) TENS(4) TENS(5) TENS(6) TENS(7),
          "%80, %81, %82, %83, %84, %85, %86, %87}, {%88, %89, %90, %91}, %92");
  } else {
    static_assert(rows == 256, "the others of wgmma are not written out");
    WGMMA(256,
          ONES TENS(1) TENS(2) TENS(3) TENS(4) TENS(5) TENS(6) TENS(7) TENS(8) TENS(9) TENS(10)
              TENS(11),
          "%120, %121, %122, %123, %124, %125, %126, %127}, {%128, %129, %130, %131}, %132");
  }
}
#else  // the simulator: each warp by itself, with what B holds now
inline void group_hold(float&) {}
inline void group_hold(half2&) {}

template <int rows>
inline void group_multiply_add(float (*c)[4], const half2* weights, GroupOperand boxes, int plane) {
  const int g = threadIdx.x % WARP_SIZE / 4, t = threadIdx.x % 4, piece = plane * 2;
  for (int first = 0; first < rows; first += 8) {
    const uint32_t* lower = reinterpret_cast<const uint32_t*>(&boxes[piece_at<rows>(first + g, piece)]);
    const uint32_t* upper =
        reinterpret_cast<const uint32_t*>(&boxes[piece_at<rows>(first + g, piece + 1)]);
    multiply_add(c[first / 8], weights[0], weights[1], weights[2], weights[3], lower[t], upper[t]);
  }
}
#endif
