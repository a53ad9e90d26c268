// Between floats and integers, with a rounding. CUDA Math API, "Type Casting Intrinsics": what does
// not fit becomes the nearest integer that does.
#pragma once
#include <limits>

#include "float_rounding.h"

template <SimRounding rounding>
auto sim_round_to_integer(double value) {
  if (rounding == SimRounding::ZERO) return trunc(value);
  if (rounding == SimRounding::UP) return ceil(value);
  if (rounding == SimRounding::DOWN) return floor(value);
  return rint(value);
}

// What is no number becomes 0 from a float in up to 32 bits, and elsewhere the sign bit alone.
template <typename Integer, SimRounding rounding, typename From>
auto sim_to_integer(From value) {
  using Limits = std::numeric_limits<Integer>;
  constexpr bool is_short = sizeof(Integer) <= 4 && sizeof(From) == 4;
  if (value != value) return static_cast<Integer>(is_short ? 0 : 1ull << (8 * sizeof(Integer) - 1));
  const double rounded = sim_round_to_integer<rounding>(value);
  if (rounded <= static_cast<double>(Limits::min())) return Limits::min();
  if (rounded >= ldexp(1.0, Limits::digits)) return Limits::max();
  return static_cast<Integer>(rounded);
}

template <typename Integer>
auto sim_exact_of(Integer value) {
  const double near = static_cast<double>(value);
  const __int128 rest = static_cast<__int128>(value) - static_cast<__int128>(near);
  return SimExact{near, static_cast<double>(rest)};
}
template <SimRounding rounding, typename Integer>
auto sim_float_of_integer(Integer value) {
  if (rounding == SimRounding::NEAREST) return static_cast<float>(value);
  return sim_round_to_float<rounding>(sim_exact_of(value));
}

#define SIM_CONVERSION(NAME, T, TAIL, ROUNDING)                                                 \
  inline T __float2##NAME##_##TAIL(float v) { return sim_to_integer<T, ROUNDING>(v); }          \
  inline T __double2##NAME##_##TAIL(double v) { return sim_to_integer<T, ROUNDING>(v); }        \
  inline float __##NAME##2float_##TAIL(T v) { return sim_float_of_integer<ROUNDING>(v); }
#define SIM_CONVERSIONS(TAIL, ROUNDING)                      \
  SIM_CONVERSION(int, int, TAIL, ROUNDING)                   \
  SIM_CONVERSION(uint, unsigned, TAIL, ROUNDING)             \
  SIM_CONVERSION(ll, long long, TAIL, ROUNDING)              \
  SIM_CONVERSION(ull, unsigned long long, TAIL, ROUNDING)    \
  inline float __double2float_##TAIL(double v) { return sim_round_to_float<ROUNDING>({v, 0}); }
SIM_CONVERSIONS(rz, SimRounding::ZERO)
SIM_CONVERSIONS(ru, SimRounding::UP)
SIM_CONVERSIONS(rd, SimRounding::DOWN)
SIM_CONVERSION(int, int, rn, SimRounding::NEAREST)
SIM_CONVERSION(uint, unsigned, rn, SimRounding::NEAREST)
SIM_CONVERSION(ll, long long, rn, SimRounding::NEAREST)
SIM_CONVERSION(ull, unsigned long long, rn, SimRounding::NEAREST)
inline float __double2float_rn(double v) { return static_cast<float>(v); }
inline double __int2double_rn(int v) { return v; }
inline double __uint2double_rn(unsigned v) { return v; }
inline double __ll2double_rn(long long v) { return static_cast<double>(v); }
inline double __ull2double_rn(unsigned long long v) { return static_cast<double>(v); }
