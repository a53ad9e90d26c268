// What <cuda_bf16.h> holds. It is here so that it is precompiled; the header makes it visible.
#pragma once
#include "atomics.h"
#include "sixteen_bit_conversions.h"

namespace sim_bf16 {

using __nv_bfloat16 = SimSixteenBits<SimBfloat16Format, SimBfloat16Powers>;
using nv_bfloat16 = __nv_bfloat16;
using __nv_bfloat162 = SimPair<__nv_bfloat16>;
using nv_bfloat162 = __nv_bfloat162;

SIM_SIXTEEN_BIT_CONVERSIONS(bfloat16, __nv_bfloat16)
inline float __bfloat162float(__nv_bfloat16 value) { return value; }

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) { return {value, value}; }
inline __nv_bfloat162 __float2bfloat162_rn(float value) { return {value, value}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 values) { return {values.x, values.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 values) { return {values.x, values.y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 values) { return values.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 values) { return values.y; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 values) { return {values.x, values.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 values) { return {values.y, values.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }

SIM_ATOMIC_NAMED(atomicAdd, __nv_bfloat16, SimAtomic::ADD_BFLOAT16S)
SIM_ATOMIC_NAMED(atomicAdd, __nv_bfloat162, SimAtomic::ADD_BFLOAT16S)

}  // namespace sim_bf16
