// Between 16 bits and integers or floats, with a rounding. CUDA Math API, "Half Precision Conversion
// and Data Movement".
#pragma once
#include "sixteen_bits.h"

#define SIM_TO_INTEGER(NAME, T, TO, INTEGER, MODE, ROUNDING) \
  inline INTEGER __##NAME##2##TO##_##MODE(T v) { return sim_to_integer<INTEGER, ROUNDING>(float(v)); }
#define SIM_WITH_INTEGER(NAME, T, OTHER, INTEGER, MODE, ROUNDING) \
  SIM_TO_INTEGER(NAME, T, OTHER, INTEGER, MODE, ROUNDING)         \
  inline T __##OTHER##2##NAME##_##MODE(INTEGER v) {               \
    return sim_round_to_sixteen<T, ROUNDING>(sim_exact_of(v));    \
  }
#define SIM_WITH_NUMBERS(NAME, T, MODE, ROUNDING)                              \
  SIM_WITH_INTEGER(NAME, T, int, int, MODE, ROUNDING)                          \
  SIM_WITH_INTEGER(NAME, T, uint, unsigned, MODE, ROUNDING)                    \
  SIM_WITH_INTEGER(NAME, T, short, short, MODE, ROUNDING)                      \
  SIM_WITH_INTEGER(NAME, T, ushort, unsigned short, MODE, ROUNDING)            \
  SIM_WITH_INTEGER(NAME, T, ll, long long, MODE, ROUNDING)                     \
  SIM_WITH_INTEGER(NAME, T, ull, unsigned long long, MODE, ROUNDING)           \
  inline T __float2##NAME##_##MODE(float v) { return sim_round_to_sixteen<T, ROUNDING>({v, 0}); }
#define SIM_SIXTEEN_BIT_CONVERSIONS(NAME, T)                         \
  SIM_WITH_NUMBERS(NAME, T, rn, SimRounding::NEAREST)                \
  SIM_WITH_NUMBERS(NAME, T, rz, SimRounding::ZERO)                   \
  SIM_WITH_NUMBERS(NAME, T, ru, SimRounding::UP)                     \
  SIM_WITH_NUMBERS(NAME, T, rd, SimRounding::DOWN)                   \
  SIM_TO_INTEGER(NAME, T, char, signed char, rz, SimRounding::ZERO)  \
  SIM_TO_INTEGER(NAME, T, uchar, unsigned char, rz, SimRounding::ZERO) \
  inline T __float2##NAME(float v) { return v; }                     \
  inline T __double2##NAME(double v) { return v; }                   \
  inline T __ushort_as_##NAME(unsigned short bits) { return T::of_bits(bits); } \
  inline T __short_as_##NAME(short bits) { return T::of_bits(static_cast<unsigned short>(bits)); } \
  inline unsigned short __##NAME##_as_ushort(T v) { return v.bits; } \
  inline short __##NAME##_as_short(T v) { return static_cast<short>(v.bits); }
