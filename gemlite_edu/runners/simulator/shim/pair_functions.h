// The functions of two halves, or two __nv_bfloat16, in one register: each by itself. CUDA Math API,
// "Half2 Arithmetic Functions".
#pragma once
#include "sixteen_bit_functions.h"

#define SIM_OF_PAIR(NAME, EACH) \
  friend Pair NAME(Pair a) { return {EACH(a.x), EACH(a.y)}; }
#define SIM_OF_TWO_PAIRS(NAME, EACH) \
  friend Pair NAME(Pair a, Pair b) { return {EACH(a.x, b.x), EACH(a.y, b.y)}; }
#define SIM_OF_THREE_PAIRS(NAME, EACH) \
  friend Pair NAME(Pair a, Pair b, Pair c) { return {EACH(a.x, b.x, c.x), EACH(a.y, b.y, c.y)}; }

template <typename T, typename Pair>
struct SimPairArithmetic {
  SIM_OF_TWO_PAIRS(__hadd2, __hadd)
  SIM_OF_TWO_PAIRS(__hsub2, __hsub)
  SIM_OF_TWO_PAIRS(__hmul2, __hmul)
  SIM_OF_TWO_PAIRS(__hadd2_rn, __hadd)
  SIM_OF_TWO_PAIRS(__hsub2_rn, __hsub)
  SIM_OF_TWO_PAIRS(__hmul2_rn, __hmul)
  SIM_OF_TWO_PAIRS(__h2div, __hdiv)
  SIM_OF_TWO_PAIRS(__hadd2_sat, __hadd_sat)
  SIM_OF_TWO_PAIRS(__hsub2_sat, __hsub_sat)
  SIM_OF_TWO_PAIRS(__hmul2_sat, __hmul_sat)
  SIM_OF_THREE_PAIRS(__hfma2, __hfma)
  SIM_OF_THREE_PAIRS(__hfma2_sat, __hfma_sat)
  SIM_OF_THREE_PAIRS(__hfma2_relu, __hfma_relu)
  SIM_OF_PAIR(__hneg2, __hneg)
  SIM_OF_PAIR(__habs2, __habs)
  // A product of complex numbers (x, y), added to c.
  friend Pair __hcmadd(Pair a, Pair b, Pair c) {
    const T real = __hfma(a.x, b.x, c.x), imaginary = __hfma(a.x, b.y, c.y);
    return {__hfma(__hneg(a.y), b.y, real), __hfma(a.y, b.x, imaginary)};
  }

  friend Pair operator+(Pair a, Pair b) { return __hadd2(a, b); }
  friend Pair operator-(Pair a, Pair b) { return __hsub2(a, b); }
  friend Pair operator*(Pair a, Pair b) { return __hmul2(a, b); }
  friend Pair operator/(Pair a, Pair b) { return __h2div(a, b); }
  friend Pair operator-(Pair a) { return __hneg2(a); }
  friend Pair& operator+=(Pair& a, Pair b) { return a = a + b; }
  friend Pair& operator-=(Pair& a, Pair b) { return a = a - b; }
  friend Pair& operator*=(Pair& a, Pair b) { return a = a * b; }
  friend Pair& operator/=(Pair& a, Pair b) { return a = a / b; }
  friend Pair operator+(Pair a) { return a; }
  friend Pair& operator++(Pair& a) { return a += Pair(1.0f, 1.0f); }
  friend Pair& operator--(Pair& a) { return a -= Pair(1.0f, 1.0f); }
  friend Pair operator++(Pair& a, int) { const Pair before = a; ++a; return before; }
  friend Pair operator--(Pair& a, int) { const Pair before = a; --a; return before; }

  friend Pair __lowhigh2highlow(Pair a) { return {a.y, a.x}; }
  friend float __low2float(Pair a) { return a.x; }
  friend float __high2float(Pair a) { return a.y; }
};

template <typename T, typename Pair>
struct SimPairComparisons {
#define SIM_PAIR_COMPARISON(NAME)                                                               \
  friend Pair __h##NAME##2(Pair a, Pair b) {                                                    \
    return {__h##NAME(a.x, b.x) ? 1.0f : 0.0f, __h##NAME(a.y, b.y) ? 1.0f : 0.0f};              \
  }                                                                                             \
  friend bool __hb##NAME##2(Pair a, Pair b) { return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y); } \
  friend unsigned __h##NAME##2_mask(Pair a, Pair b) {                                           \
    return (__h##NAME(a.x, b.x) ? 0xFFFFu : 0) | (__h##NAME(a.y, b.y) ? 0xFFFF0000u : 0);       \
  }
#define SIM_PAIR_COMPARISONS(NAME, OPERATOR, OPERATION) \
  SIM_PAIR_COMPARISON(NAME)                             \
  SIM_PAIR_COMPARISON(NAME##u)                          \
  friend bool operator OPERATOR(Pair a, Pair b) { return OPERATION(a, b); }
  SIM_PAIR_COMPARISONS(eq, ==, __hbeq2)
  SIM_PAIR_COMPARISONS(ne, !=, __hbneu2)
  SIM_PAIR_COMPARISONS(lt, <, __hblt2)
  SIM_PAIR_COMPARISONS(le, <=, __hble2)
  SIM_PAIR_COMPARISONS(gt, >, __hbgt2)
  SIM_PAIR_COMPARISONS(ge, >=, __hbge2)
  SIM_OF_TWO_PAIRS(__hmin2, __hmin)
  SIM_OF_TWO_PAIRS(__hmax2, __hmax)
  SIM_OF_TWO_PAIRS(__hmin2_nan, __hmin_nan)
  SIM_OF_TWO_PAIRS(__hmax2_nan, __hmax_nan)
  friend Pair __hisnan2(Pair a) {
    return {__hisnan(a.x) ? 1.0f : 0.0f, __hisnan(a.y) ? 1.0f : 0.0f};
  }
};

template <typename T, typename Pair>
struct SimPairMath {
  SIM_OF_PAIR(h2ceil, hceil)
  SIM_OF_PAIR(h2floor, hfloor)
  SIM_OF_PAIR(h2trunc, htrunc)
  SIM_OF_PAIR(h2rint, hrint)
  SIM_OF_PAIR(h2sqrt, hsqrt)
  SIM_OF_PAIR(h2rsqrt, hrsqrt)
  SIM_OF_PAIR(h2rcp, hrcp)
  SIM_OF_PAIR(h2exp, hexp)
  SIM_OF_PAIR(h2exp2, hexp2)
  SIM_OF_PAIR(h2exp10, hexp10)
  SIM_OF_PAIR(h2log, hlog)
  SIM_OF_PAIR(h2log2, hlog2)
  SIM_OF_PAIR(h2log10, hlog10)
  SIM_OF_PAIR(h2sin, hsin)
  SIM_OF_PAIR(h2cos, hcos)
};
