#pragma once
#include "cuda_runtime.h"
#include "sixteen_bits.h"

using __half = SimSixteenBits<SimHalfFormat>;
using half = __half;

inline float __half2float(half value) { return value; }
inline half __float2half(float value) { return value; }
inline half __float2half_rn(float value) { return value; }
inline half __int2half_rn(int value) { return value; }
inline half __uint2half_rn(unsigned value) { return value; }
inline half __short2half_rn(short value) { return value; }
inline half __ushort2half_rn(unsigned short value) { return value; }
inline half __ushort_as_half(unsigned short bits) {
  half value;
  value.bits = bits;
  return value;
}
inline half __short_as_half(short bits) { return __ushort_as_half(static_cast<unsigned short>(bits)); }
inline unsigned short __half_as_ushort(half value) { return value.bits; }
inline short __half_as_short(half value) { return static_cast<short>(value.bits); }
inline half __hadd(half a, half b) { return a + b; }
inline half __hsub(half a, half b) { return a - b; }
inline half __hmul(half a, half b) { return a * b; }
inline half __hdiv(half a, half b) { return a / b; }
inline half __hneg(half a) { return -a; }

// a * b + c, rounded once. The product is exact in double. So is the sum, unless c is so much larger
// that the half nearest to it is c.
inline half __hfma(half a, half b, half c) {
  return sim_round_to_odd(static_cast<double>(float(a)) * float(b) + float(c));
}

// Two halves in one register. CUDA Math API, "Half2 Arithmetic Functions": each half by itself.
SIM_VECTOR2(__half2, half)
using half2 = __half2;
inline half2 make_half2(half x, half y) { return {x, y}; }
inline half2 __halves2half2(half x, half y) { return {x, y}; }
inline half2 __half2half2(half value) { return {value, value}; }
inline half2 __float2half2_rn(float value) { return {value, value}; }
inline half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline half2 __float22half2_rn(float2 values) { return {values.x, values.y}; }
inline float2 __half22float2(half2 values) { return {values.x, values.y}; }
inline half __low2half(half2 values) { return values.x; }
inline half __high2half(half2 values) { return values.y; }
inline half2 __low2half2(half2 values) { return {values.x, values.x}; }
inline half2 __high2half2(half2 values) { return {values.y, values.y}; }
inline half2 __lows2half2(half2 a, half2 b) { return {a.x, b.x}; }
inline half2 __highs2half2(half2 a, half2 b) { return {a.y, b.y}; }
inline float __low2float(half2 values) { return values.x; }
inline float __high2float(half2 values) { return values.y; }
inline half2 __hadd2(half2 a, half2 b) { return {a.x + b.x, a.y + b.y}; }
inline half2 __hsub2(half2 a, half2 b) { return {a.x - b.x, a.y - b.y}; }
inline half2 __hmul2(half2 a, half2 b) { return {a.x * b.x, a.y * b.y}; }
inline half2 __h2div(half2 a, half2 b) { return {a.x / b.x, a.y / b.y}; }
inline half2 __hneg2(half2 a) { return {-a.x, -a.y}; }
inline half2 __hfma2(half2 a, half2 b, half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline half2 operator+(half2 a, half2 b) { return __hadd2(a, b); }
inline half2 operator-(half2 a, half2 b) { return __hsub2(a, b); }
inline half2 operator*(half2 a, half2 b) { return __hmul2(a, b); }
inline half2 operator/(half2 a, half2 b) { return __h2div(a, b); }
inline half2 operator-(half2 a) { return __hneg2(a); }
inline half2& operator+=(half2& a, half2 b) { return a = a + b; }
inline half2& operator-=(half2& a, half2 b) { return a = a - b; }
inline half2& operator*=(half2& a, half2 b) { return a = a * b; }
inline half2& operator/=(half2& a, half2 b) { return a = a / b; }
