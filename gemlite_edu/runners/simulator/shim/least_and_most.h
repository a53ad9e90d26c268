// min and max of the pairs of types that CUDA has, and of no other, so that what is ambiguous for nvcc
// is so here. CUDA's crt/math_functions.hpp has the list.
#pragma once
#include <math.h>

#define SIM_LEAST_AND_MOST(T, A, B)                                               \
  inline T min(const A a, const B b) {                                            \
    const T x = static_cast<T>(a), y = static_cast<T>(b);                         \
    return y < x ? y : x;                                                         \
  }                                                                               \
  inline T max(const A a, const B b) {                                            \
    const T x = static_cast<T>(a), y = static_cast<T>(b);                         \
    return x < y ? y : x;                                                         \
  }
#define SIM_OF_INTEGERS(T)                                                        \
  SIM_LEAST_AND_MOST(T, T, T)                                                     \
  SIM_LEAST_AND_MOST(unsigned T, unsigned T, unsigned T)                          \
  SIM_LEAST_AND_MOST(unsigned T, T, unsigned T)                                   \
  SIM_LEAST_AND_MOST(unsigned T, unsigned T, T)
SIM_OF_INTEGERS(int)
SIM_OF_INTEGERS(long)
SIM_OF_INTEGERS(long long)
#undef SIM_OF_INTEGERS
#undef SIM_LEAST_AND_MOST

// Of a NaN and a number they give the number.
inline float min(const float a, const float b) { return fminf(a, b); }
inline float max(const float a, const float b) { return fmaxf(a, b); }
inline double min(const double a, const double b) { return fmin(a, b); }
inline double max(const double a, const double b) { return fmax(a, b); }
inline double min(const float a, const double b) { return fmin(static_cast<double>(a), b); }
inline double max(const float a, const double b) { return fmax(static_cast<double>(a), b); }
inline double min(const double a, const float b) { return fmin(a, static_cast<double>(b)); }
inline double max(const double a, const float b) { return fmax(a, static_cast<double>(b)); }
