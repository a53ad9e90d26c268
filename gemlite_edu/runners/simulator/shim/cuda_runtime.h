// What CUDA C++ has and the host compiler lacks, in terms of the runner (runner.cpp).
// The simulator includes it before a kernel's text, as nvcc does with its own.
#pragma once
#include <cstdint>
// Of g++'s <math.h> most of the time would go to special functions, which CUDA has not.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <assert.h>
#include <string.h>

#include <type_traits>

#include "cooperation.h"

// A kernel stays a function of its own: around it arguments are read, which is no access of its.
#define __global__ __attribute__((noipa))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __constant__ static const
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// One block is one thread of the host, its lanes are fibers on it.
// "used": an array that nothing writes must not become a constant.
#define __shared__ __attribute__((used)) thread_local

#define threadIdx (sim_here.thread_index)
#define blockIdx (sim_here.block_index)
#define blockDim (sim_here.block_size)
#define gridDim (sim_here.grid_size)
constexpr int warpSize = 32;

// Addresses in shared memory have 32 bits. Here they count from a variable beside it (bindings.h).
extern __thread unsigned char sim_touched;
inline size_t __cvta_generic_to_shared(const void* shared) {
  return static_cast<uint32_t>(static_cast<const unsigned char*>(shared) - &sim_touched);
}
inline void* __cvta_shared_to_generic(size_t address) {
  return &sim_touched + static_cast<int32_t>(address);
}

template <typename T>
T __ldg(const T* address) { return *address; }
template <typename T>
T __ldcs(const T* address) { return *address; }

inline void __syncthreads() { sim_barrier(); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { sim_sync_warp(mask); }
inline unsigned __ballot_sync(unsigned mask, int predicate) { return sim_vote(mask, predicate != 0); }
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <typename T>
T sim_shuffle(unsigned mask, T value, int source_lane) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves at most 8 bytes per lane");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = sim_exchange(mask, bits, source_lane);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

inline int sim_lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }

// CUDA C++ Programming Guide, "Warp Shuffle Functions": a source outside the lane's segment of
// `width` lanes means the lane's own value.
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return sim_shuffle(mask, value, (sim_lane() & ~(width - 1)) | (source & (width - 1)));
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = sim_lane(), source = lane + static_cast<int>(delta);
  return sim_shuffle(mask, value, source <= (lane | (width - 1)) ? source : lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = sim_lane(), source = lane - static_cast<int>(delta);
  return sim_shuffle(mask, value, source >= (lane & ~(width - 1)) ? source : lane);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const int lane = sim_lane(), source = lane ^ lane_mask;
  return sim_shuffle(mask, value, source <= (lane | (width - 1)) ? source : lane);
}

template <typename A, typename B>
std::common_type_t<A, B> min(A a, B b) {
  const std::common_type_t<A, B> x = a, y = b;
  return y < x ? y : x;
}
template <typename A, typename B>
std::common_type_t<A, B> max(A a, B b) {
  const std::common_type_t<A, B> x = a, y = b;
  return x < y ? y : x;
}

template <typename To, typename From>
To sim_as(From value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits, seen as another type");
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}
inline unsigned __float_as_uint(float value) { return sim_as<unsigned>(value); }
inline int __float_as_int(float value) { return sim_as<int>(value); }
inline float __uint_as_float(unsigned bits) { return sim_as<float>(bits); }
inline float __int_as_float(int bits) { return sim_as<float>(bits); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }

// Bytes of b:a (b the upper four) chosen by the low three bits of the selector's four nibbles.
// CUDA Math API, "Integer Intrinsics". The nibble's fourth bit, which copies a sign, is not here.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i;
  }
  return result;
}

// Shifts high:low right and returns the low 32 bits, or left and returns the high 32 bits.
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}

// A vector is read and written whole, by one access, as a GPU does: its copies go through a type
// of its width.
template <size_t bytes>
struct SimWhole;
template <> struct SimWhole<1> { typedef uint8_t type __attribute__((may_alias)); };
template <> struct SimWhole<2> { typedef uint16_t type __attribute__((may_alias)); };
template <> struct SimWhole<4> { typedef uint32_t type __attribute__((may_alias)); };
template <> struct SimWhole<8> { typedef uint64_t type __attribute__((may_alias)); };
template <> struct SimWhole<16> {
  typedef uint64_t type __attribute__((may_alias, vector_size(16)));
};
template <typename T>
void sim_copy_whole(T* to, const T* from) {
#ifdef SIM_SPLIT_VECTORS  // field by field, to see which fields are used
  to->copy_fields(*from);
#else
  using Whole = typename SimWhole<sizeof(T)>::type;
  *reinterpret_cast<Whole*>(to) = *reinterpret_cast<const Whole*>(from);
#endif
}

#define SIM_VECTOR2(NAME, T)                                               \
  struct alignas(2 * sizeof(T)) NAME {                                     \
    T x, y;                                                                \
    NAME() = default;                                                      \
    NAME(T a, T b) : x(a), y(b) {}                                         \
    void copy_fields(const NAME& o) { x = o.x, y = o.y; }                  \
    NAME(const NAME& other) { sim_copy_whole(this, &other); }              \
    NAME& operator=(const NAME& other) {                                   \
      sim_copy_whole(this, &other);                                        \
      return *this;                                                        \
    }                                                                      \
  };                                                                       \
  inline NAME make_##NAME(T a, T b) { return {a, b}; }
#define SIM_VECTOR4(NAME, T)                                               \
  struct alignas(4 * sizeof(T)) NAME {                                     \
    T x, y, z, w;                                                          \
    NAME() = default;                                                      \
    NAME(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}                   \
    void copy_fields(const NAME& o) { x = o.x, y = o.y, z = o.z, w = o.w; } \
    NAME(const NAME& other) { sim_copy_whole(this, &other); }              \
    NAME& operator=(const NAME& other) {                                   \
      sim_copy_whole(this, &other);                                        \
      return *this;                                                        \
    }                                                                      \
  };                                                                       \
  inline NAME make_##NAME(T a, T b, T c, T d) { return {a, b, c, d}; }

SIM_VECTOR4(char4, signed char)
SIM_VECTOR4(uchar4, unsigned char)
SIM_VECTOR2(float2, float)
SIM_VECTOR2(int2, int)
SIM_VECTOR2(uint2, unsigned)
SIM_VECTOR4(float4, float)
SIM_VECTOR4(int4, int)
SIM_VECTOR4(uint4, unsigned)

// Four products of bytes, signed or not, added to c. CUDA Math API, "Integer Intrinsics".
inline int __dp4a(char4 a, char4 b, int c) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
inline int __dp4a(int a, int b, int c) { return __dp4a(sim_as<char4>(a), sim_as<char4>(b), c); }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return __dp4a(sim_as<uchar4>(a), sim_as<uchar4>(b), c);
}
