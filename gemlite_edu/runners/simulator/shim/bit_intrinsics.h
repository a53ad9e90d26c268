// Bits: counted, reversed, shifted, moved in bytes. CUDA Math API, "Integer Intrinsics" and "Type
// Casting Intrinsics".
#pragma once
#include <stdint.h>

template <typename To, typename From>
auto sim_as(From value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits, seen as another type");
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}
// g++ checks a bool that it reads from a struct for a byte that is 0 or 1. Vectors are copied.
template <typename T>
struct SimBits { T value; };
template <typename To, typename From>
constexpr To sim_bit_cast(const From& value) {
  if constexpr (__is_trivially_copyable(To) && __is_trivially_copyable(From)) {
    return __builtin_bit_cast(SimBits<To>, value).value;
  } else {
    return sim_as<To>(value);
  }
}
#define __builtin_bit_cast(T, value) sim_bit_cast<T>(value)
// The NaN that comes out of arithmetic has other bits on a GPU than on x86.
inline unsigned __float_as_uint(float value) {
  const auto bits = sim_as<unsigned>(value);
  return bits == 0xffc00000u ? 0x7fffffffu : bits;
}
inline int __float_as_int(float value) { return static_cast<int>(__float_as_uint(value)); }
inline float __uint_as_float(unsigned bits) { return sim_as<float>(bits); }
inline float __int_as_float(int bits) { return sim_as<float>(bits); }
inline long long __double_as_longlong(double value) { return sim_as<long long>(value); }
inline double __longlong_as_double(long long bits) { return sim_as<double>(bits); }
inline int __double2hiint(double value) { return static_cast<int>(sim_as<uint64_t>(value) >> 32); }
inline int __double2loint(double value) { return static_cast<int>(sim_as<uint64_t>(value)); }
inline double __hiloint2double(int high, int low) {
  return sim_as<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                        static_cast<uint32_t>(low));
}

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline int __clzll(long long bits) {
  return bits == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(bits));
}
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }

inline unsigned __brev(unsigned bits) {
  bits = (bits >> 1 & 0x55555555u) | (bits & 0x55555555u) << 1;
  bits = (bits >> 2 & 0x33333333u) | (bits & 0x33333333u) << 2;
  bits = (bits >> 4 & 0x0F0F0F0Fu) | (bits & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(bits);
}
inline unsigned long long __brevll(unsigned long long bits) {
  const uint64_t high = __brev(static_cast<unsigned>(bits));
  return high << 32 | __brev(static_cast<unsigned>(bits >> 32));
}

// The place of the offset-th set bit at or above `base`, or below it if offset is negative; all bits
// set if there is none.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return base < 32 && mask >> base & 1 ? base : 0xFFFFFFFFu;
  const int step = offset > 0 ? 1 : -1;
  int left = offset * step;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    left -= static_cast<int>(mask >> at & 1);
    if (left == 0) return static_cast<unsigned>(at);
  }
  return 0xFFFFFFFFu;
}

// Bytes of b:a (b the upper four) chosen by the low three bits of the selector's four nibbles.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i;
  }
  return result;
}

// Shifts high:low right and returns the low 32 bits, or left and returns the high 32 bits. The count
// wraps at 32; in the forms that end in c it stops there.
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
