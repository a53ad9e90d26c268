// What <cuda_fp16.h> holds. It is here so that it is precompiled; the header makes it visible.
#pragma once
#include "atomics.h"
#include "sixteen_bit_conversions.h"

namespace sim_fp16 {

using __half = SimSixteenBits<SimHalfFormat, SimHalfPowers>;
using half = __half;
using __half2 = SimPair<half>;
using half2 = __half2;

SIM_SIXTEEN_BIT_CONVERSIONS(half, half)
inline float __half2float(half value) { return value; }

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

inline half htanh(half value) { return tanh(static_cast<double>(float(value))); }
inline half2 h2tanh(half2 values) { return {htanh(values.x), htanh(values.y)}; }

SIM_ATOMIC_NAMED(atomicAdd, half, SimAtomic::ADD_HALVES)
SIM_ATOMIC_NAMED(atomicAdd, half2, SimAtomic::ADD_HALVES)

}  // namespace sim_fp16
