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
SIM_PAIR_CONVERSIONS(bfloat16, __nv_bfloat16, bfloat162, __nv_bfloat162)

SIM_ATOMIC_NAMED(atomicAdd, __nv_bfloat16, SimAtomic::ADD_BFLOAT16S)
SIM_ATOMIC_NAMED(atomicAdd, __nv_bfloat162, SimAtomic::ADD_BFLOAT16S)

}  // namespace sim_bf16
