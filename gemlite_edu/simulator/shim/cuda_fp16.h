#pragma once
#include "sixteen_bits.h"

using __half = SimSixteenBits<SimHalfFormat>;
using half = __half;

inline float __half2float(half value) { return value; }
inline half __float2half(float value) { return value; }
inline half __float2half_rn(float value) { return value; }
inline half __hadd(half a, half b) { return a + b; }
inline half __hsub(half a, half b) { return a - b; }
inline half __hmul(half a, half b) { return a * b; }
