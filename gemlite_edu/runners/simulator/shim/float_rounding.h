// Sums, products, quotients and roots rounded to the nearest float, or to one side. CUDA Math API,
// "Single Precision Intrinsics". The exact result is a double and the sign of what that leaves out.
#pragma once
#include <math.h>

#include "bit_intrinsics.h"

enum class SimRounding { NEAREST, ZERO, UP, DOWN };

// near is the double nearest to the exact value, rest has the sign of exact - near.
struct SimExact { double near, rest; };

// Knuth's two-sum: rest is the exact remainder, 0 where the sum is no number.
inline SimExact sim_exact_sum(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  const double rest = (a - (sum - of_b)) + (b - of_b);
  return {sum, rest == rest ? rest : 0.0};
}

template <SimRounding rounding>
auto sim_round_to_float(SimExact exact) {
  const float nearest = static_cast<float>(exact.near);
  if (exact.near - exact.near != 0) return nearest;
  double behind = exact.near - static_cast<double>(nearest);
  if (behind == 0) behind = exact.rest;
  const bool is_negative = exact.near < 0;
  const bool goes_up = rounding == SimRounding::UP || (rounding == SimRounding::ZERO && is_negative);
  if (behind > 0 && goes_up) return nextafterf(nearest, INFINITY);
  if (behind < 0 && !goes_up) return nextafterf(nearest, -INFINITY);
  return nearest;
}

// The sum of a product, exact in a double, and a float. IEEE 754: numbers that cancel give -0 where
// one rounds down, else +0.
template <SimRounding rounding>
auto sim_round_sum(double a, double b) {
  const SimExact exact = sim_exact_sum(a, b);
  const bool cancels = exact.near == 0 && signbit(a) != signbit(b);
  if (cancels) return rounding == SimRounding::DOWN ? -0.0f : 0.0f;
  return sim_round_to_float<rounding>(exact);
}
template <SimRounding rounding>
auto sim_round_quotient(double a, double b) {
  const double quotient = a / b, remainder = fma(-quotient, b, a);
  return sim_round_to_float<rounding>({quotient, b < 0 ? -remainder : remainder});
}
template <SimRounding rounding>
auto sim_round_root(double value) {
  const double root = sqrt(value);
  return sim_round_to_float<rounding>({root, fma(-root, root, value)});
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frsqrt_rn(float a) { return static_cast<float>(1.0 / sqrt(static_cast<double>(a))); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fmaf_ieee_rn(float a, float b, float c) { return fmaf(a, b, c); }

#define SIM_ROUNDED_TO_ONE_SIDE(TAIL, ROUNDING)                                                   \
  inline float __fadd_##TAIL(float a, float b) { return sim_round_sum<ROUNDING>(a, b); }          \
  inline float __fsub_##TAIL(float a, float b) { return sim_round_sum<ROUNDING>(a, -b); }         \
  inline float __fmul_##TAIL(float a, float b) {                                                  \
    return sim_round_to_float<ROUNDING>({static_cast<double>(a) * b, 0});                         \
  }                                                                                               \
  inline float __fdiv_##TAIL(float a, float b) { return sim_round_quotient<ROUNDING>(a, b); }     \
  inline float __frcp_##TAIL(float a) { return sim_round_quotient<ROUNDING>(1, a); }              \
  inline float __fsqrt_##TAIL(float a) { return sim_round_root<ROUNDING>(a); }                    \
  inline float __fmaf_##TAIL(float a, float b, float c) {                                         \
    return sim_round_sum<ROUNDING>(static_cast<double>(a) * b, c);                                \
  }
SIM_ROUNDED_TO_ONE_SIDE(rz, SimRounding::ZERO)
SIM_ROUNDED_TO_ONE_SIDE(ru, SimRounding::UP)
SIM_ROUNDED_TO_ONE_SIDE(rd, SimRounding::DOWN)

inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
