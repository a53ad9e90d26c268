#pragma once
#include "sixteen_bits.h"

using __nv_bfloat16 = SimSixteenBits<SimBfloat16Format>;

inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline __nv_bfloat16 __float2bfloat16(float value) { return value; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return value; }
