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
SIM_PAIR_CONVERSIONS(half, half, half2, half2)

inline half htanh(half value) { return tanh(static_cast<double>(float(value))); }
inline half2 h2tanh(half2 values) { return {htanh(values.x), htanh(values.y)}; }

SIM_ATOMIC_NAMED(atomicAdd, half, SimAtomic::ADD_HALVES)
SIM_ATOMIC_NAMED(atomicAdd, half2, SimAtomic::ADD_HALVES)

}  // namespace sim_fp16
