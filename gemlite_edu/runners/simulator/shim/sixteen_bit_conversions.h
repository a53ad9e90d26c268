// Between 16 bits and integers or floats, with a rounding. CUDA Math API, "Half Precision Conversion
// and Data Movement".
#pragma once
#include "sixteen_bits.h"

#define SIM_TO_INTEGER(NAME, T, TO, INTEGER, TAIL, ROUNDING) \
  inline INTEGER __##NAME##2##TO##_##TAIL(T v) { return sim_to_integer<INTEGER, ROUNDING>(float(v)); }
#define SIM_WITH_INTEGER(NAME, T, OTHER, INTEGER, TAIL, ROUNDING) \
  SIM_TO_INTEGER(NAME, T, OTHER, INTEGER, TAIL, ROUNDING)         \
  inline T __##OTHER##2##NAME##_##TAIL(INTEGER v) {               \
    return sim_round_to_sixteen<T, ROUNDING>(sim_exact_of(v));    \
  }
#define SIM_WITH_NUMBERS(NAME, T, TAIL, ROUNDING)                              \
  SIM_WITH_INTEGER(NAME, T, int, int, TAIL, ROUNDING)                          \
  SIM_WITH_INTEGER(NAME, T, uint, unsigned, TAIL, ROUNDING)                    \
  SIM_WITH_INTEGER(NAME, T, short, short, TAIL, ROUNDING)                      \
  SIM_WITH_INTEGER(NAME, T, ushort, unsigned short, TAIL, ROUNDING)            \
  SIM_WITH_INTEGER(NAME, T, ll, long long, TAIL, ROUNDING)                     \
  SIM_WITH_INTEGER(NAME, T, ull, unsigned long long, TAIL, ROUNDING)           \
  inline T __float2##NAME##_##TAIL(float v) { return sim_round_to_sixteen<T, ROUNDING>({v, 0}); }
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

// Of pairs: CUDA's names have NAME for the number, PAIR for two of them.
#define SIM_PAIR_CONVERSIONS(NAME, T, PAIR, PAIR_T)                                      \
  inline float __##NAME##2float(T value) { return value; }                               \
  inline PAIR_T make_##PAIR(T x, T y) { return {x, y}; }                                 \
  inline PAIR_T __halves2##PAIR(T x, T y) { return {x, y}; }                             \
  inline PAIR_T __##NAME##2##PAIR(T value) { return {value, value}; }                    \
  inline PAIR_T __float2##PAIR##_rn(float value) { return {value, value}; }              \
  inline PAIR_T __floats2##PAIR##_rn(float x, float y) { return {x, y}; }                \
  inline PAIR_T __float22##PAIR##_rn(float2 values) { return {values.x, values.y}; }     \
  inline float2 __##PAIR##2float2(PAIR_T values) { return {values.x, values.y}; }        \
  inline T __low2##NAME(PAIR_T values) { return values.x; }                              \
  inline T __high2##NAME(PAIR_T values) { return values.y; }                             \
  inline PAIR_T __low2##PAIR(PAIR_T values) { return {values.x, values.x}; }             \
  inline PAIR_T __high2##PAIR(PAIR_T values) { return {values.y, values.y}; }            \
  inline PAIR_T __lows2##PAIR(PAIR_T a, PAIR_T b) { return {a.x, b.x}; }                 \
  inline PAIR_T __highs2##PAIR(PAIR_T a, PAIR_T b) { return {a.y, b.y}; }
