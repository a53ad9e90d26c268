// Functions of floats that CUDA has and <math.h> lacks, or has since C23 with `noexcept`. A GPU's fast ones (__expf) and rsqrtf differ
// from these in the last bits: there a table and a few products stand for the function.
#pragma once
#include <math.h>

inline float __expf(float x) { return static_cast<float>(exp(static_cast<double>(x))); }
inline float __exp10f(float x) { return static_cast<float>(exp10(static_cast<double>(x))); }
inline float __logf(float x) { return static_cast<float>(log(static_cast<double>(x))); }
inline float __log2f(float x) { return static_cast<float>(log2(static_cast<double>(x))); }
inline float __log10f(float x) { return static_cast<float>(log10(static_cast<double>(x))); }
inline float __sinf(float x) { return static_cast<float>(sin(static_cast<double>(x))); }
inline float __cosf(float x) { return static_cast<float>(cos(static_cast<double>(x))); }
inline float __tanf(float x) { return static_cast<float>(tan(static_cast<double>(x))); }
inline float __tanhf(float x) { return static_cast<float>(tanh(static_cast<double>(x))); }
inline float __powf(float x, float y) { return static_cast<float>(pow(static_cast<double>(x), y)); }
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}
// From 2^126 on, the reciprocal of y is lost.
inline float __fdividef(float x, float y) {
  const bool is_lost = fabsf(y) > 0x1p126f && fabsf(y) < INFINITY;
  return is_lost ? x * 0.0f : x / y;
}
inline float fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f; }

inline float rsqrtf(float x) noexcept { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
inline double rsqrt(double x) noexcept { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return static_cast<float>(1.0 / cbrt(static_cast<double>(x))); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }

// x is reduced exactly, to less than a quarter, before the product with pi.
inline double sinpi(double x) noexcept {
  const double rest = fabs(remainder(x, 2.0));
  const bool is_middle = rest > 0.25 && rest < 0.75;
  const double sine = is_middle ? cos(M_PI * (0.5 - rest)) : sin(M_PI * fmin(rest, 1.0 - rest));
  return copysign(sine, remainder(x, 2.0));
}
inline double cospi(double x) noexcept {
  const double rest = fabs(remainder(x, 2.0));
  if (rest > 0.25 && rest < 0.75) return sin(M_PI * (0.5 - rest));
  return rest < 0.5 ? cos(M_PI * rest) : -cos(M_PI * (1.0 - rest));
}
inline float sinpif(float x) noexcept { return static_cast<float>(sinpi(x)); }
inline float cospif(float x) noexcept { return static_cast<float>(cospi(x)); }
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

inline double norm3d(double a, double b, double c) { return hypot(hypot(a, b), c); }
inline double norm4d(double a, double b, double c, double d) { return hypot(hypot(a, b), hypot(c, d)); }
inline float norm3df(float a, float b, float c) { return static_cast<float>(norm3d(a, b, c)); }
inline float norm4df(float a, float b, float c, float d) {
  return static_cast<float>(norm4d(a, b, c, d));
}
inline float rnorm3df(float a, float b, float c) { return static_cast<float>(1.0 / norm3d(a, b, c)); }
inline float rnorm4df(float a, float b, float c, float d) {
  return static_cast<float>(1.0 / norm4d(a, b, c, d));
}
inline float rhypotf(float a, float b) {
  return static_cast<float>(1.0 / hypot(static_cast<double>(a), static_cast<double>(b)));
}
inline float normcdff(float x) { return static_cast<float>(0.5 * erfc(-M_SQRT1_2 * x)); }
