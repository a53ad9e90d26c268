// The functions that half and __nv_bfloat16 share. CUDA Math API, "Half Precision Intrinsics". They
// are friends of base classes, so that each type gets functions of its own: half + float stays
// ambiguous, as it is under nvcc.
#pragma once
#include "sixteen_bit_formats.h"

inline float sim_saturated(float value) { return value > 0.0f ? value < 1.0f ? value : 1.0f : 0.0f; }
// The least or the greatest of two numbers; -0 is less than +0.
inline float sim_least(float a, float b) { return a < b || (a == b && signbit(a)) ? a : b; }
inline float sim_most(float a, float b) { return a > b || (a == b && !signbit(a)) ? a : b; }

template <typename T>
struct SimSixteenBitArithmetic {
  friend T operator+(T a, T b) { return float(a) + float(b); }
  friend T operator-(T a, T b) { return float(a) - float(b); }
  friend T operator*(T a, T b) { return float(a) * float(b); }
  friend T operator/(T a, T b) { return float(a) / float(b); }
  friend T operator-(T a) { return -float(a); }
  friend T operator+(T a) { return a; }
  friend T& operator+=(T& a, T b) { return a = a + b; }
  friend T& operator-=(T& a, T b) { return a = a - b; }
  friend T& operator*=(T& a, T b) { return a = a * b; }
  friend T& operator/=(T& a, T b) { return a = a / b; }
  friend T& operator++(T& a) { return a = float(a) + 1.0f; }
  friend T& operator--(T& a) { return a = float(a) - 1.0f; }
  friend T operator++(T& a, int) { const T before = a; ++a; return before; }
  friend T operator--(T& a, int) { const T before = a; --a; return before; }

  friend T __hadd(T a, T b) { return a + b; }
  friend T __hsub(T a, T b) { return a - b; }
  friend T __hmul(T a, T b) { return a * b; }
  friend T __hdiv(T a, T b) { return a / b; }
  friend T __hadd_rn(T a, T b) { return a + b; }
  friend T __hsub_rn(T a, T b) { return a - b; }
  friend T __hmul_rn(T a, T b) { return a * b; }
  friend T __hneg(T a) { return -a; }
  friend T __habs(T a) { return fabsf(a); }
  // a * b + c, rounded once.
  friend T __hfma(T a, T b, T c) {
    return T::of(sim_exact_sum(static_cast<double>(float(a)) * float(b), float(c)));
  }
  friend T __hadd_sat(T a, T b) { return sim_saturated(a + b); }
  friend T __hsub_sat(T a, T b) { return sim_saturated(a - b); }
  friend T __hmul_sat(T a, T b) { return sim_saturated(a * b); }
  friend T __hfma_sat(T a, T b, T c) { return sim_saturated(__hfma(a, b, c)); }
  friend T __hfma_relu(T a, T b, T c) {
    const float sum = __hfma(a, b, c);
    return sum <= 0.0f ? 0.0f : sum;
  }
};

template <typename T>
struct SimSixteenBitComparisons {
#define SIM_SIXTEEN_BIT_COMPARISON(NAME, OPERATOR, EXPRESSION) \
  friend bool __h##NAME(T a, T b) {                            \
    const float x = a, y = b;                                  \
    return EXPRESSION;                                         \
  }                                                            \
  friend bool __h##NAME##u(T a, T b) {                         \
    const float x = a, y = b;                                  \
    return x != x || y != y || (EXPRESSION);                   \
  }                                                            \
  friend bool operator OPERATOR(T a, T b) { return float(a) OPERATOR float(b); }
  SIM_SIXTEEN_BIT_COMPARISON(eq, ==, x == y)
  SIM_SIXTEEN_BIT_COMPARISON(ne, !=, x < y || x > y)
  SIM_SIXTEEN_BIT_COMPARISON(lt, <, x < y)
  SIM_SIXTEEN_BIT_COMPARISON(le, <=, x <= y)
  SIM_SIXTEEN_BIT_COMPARISON(gt, >, x > y)
  SIM_SIXTEEN_BIT_COMPARISON(ge, >=, x >= y)

  friend bool __hisnan(T a) { return float(a) != float(a); }
  friend int __hisinf(T a) { return float(a) == INFINITY ? 1 : float(a) == -INFINITY ? -1 : 0; }
  // Of a number and no number: the number, or with _nan no number.
  friend T __hmin(T a, T b) { return __hisnan(a) ? b : __hisnan(b) ? a : T(sim_least(a, b)); }
  friend T __hmax(T a, T b) { return __hisnan(a) ? b : __hisnan(b) ? a : T(sim_most(a, b)); }
  friend T __hmin_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? T(NAN) : __hmin(a, b); }
  friend T __hmax_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? T(NAN) : __hmax(a, b); }
};

// Of the exact value, rounded once; Powers has what CUDA computes of half as of no __nv_bfloat16.
template <typename T, typename Powers>
struct SimSixteenBitMath {
  friend T hceil(T a) { return ceilf(a); }
  friend T hfloor(T a) { return floorf(a); }
  friend T htrunc(T a) { return truncf(a); }
  friend T hrint(T a) { return rintf(a); }
  friend T hsqrt(T a) { return sqrt(double(float(a))); }
  friend T hrsqrt(T a) { return 1.0 / sqrt(double(float(a))); }
  friend T hrcp(T a) { return 1.0 / double(float(a)); }
  friend T hexp2(T a) { return exp2(double(float(a))); }
  friend T hlog2(T a) { return log2(double(float(a))); }
  friend T hsin(T a) { return sin(double(float(a))); }
  friend T hcos(T a) { return cos(double(float(a))); }
  friend T hexp(T a) { return Powers::exp(float(a)); }
  friend T hexp10(T a) { return Powers::exp10(float(a)); }
  friend T hlog(T a) { return Powers::log(float(a)); }
  friend T hlog10(T a) { return Powers::log10(float(a)); }
};
