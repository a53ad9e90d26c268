// The part of gemv_fast.cuh that adds up x over the codes that share a scale.
// In scope: PLANE, PLANES, PART, ROWS, OFFSETS, ONE_OFFSET, field_of, offset_of, prepare_pairs.
#pragma once
#include "gemv_fast_x.cuh"
#include "levels.cuh"

// Of a part of a row: {sum of x, sum of x times its offsets}, and z: what undoes its scaling. With one
// offset for all fields the first is enough, and a block keeps more of its L1 for the weights.
using XPart = std::conditional<!IS_HALF, float4, std::conditional<ONE_OFFSET, float, float2>::type>::type;
__device__ inline float power_of(float) { return 1.0f; }
__device__ inline float power_of(float2) { return 1.0f; }
__device__ inline float power_of(float4 sums) { return sums.z; }
__device__ inline float sum_of(float sum) { return sum; }
__device__ inline float sum_of(float2 sums) { return sums.x; }
__device__ inline float sum_of(float4 sums) { return sums.x; }
__device__ inline float offsets_of(float sum) { return sum * offset_of(0); }
__device__ inline float offsets_of(float2 sums) { return sums.y; }
__device__ inline float offsets_of(float4 sums) { return sums.y; }
__device__ inline void set_part(float& sum, float x, float, float) { sum = x; }
__device__ inline void set_part(float2& sums, float x, float offsets, float) {
  sums = make_float2(x, offsets);
}
__device__ inline void set_part(float4& sums, float x, float offsets, float power) {
  sums = make_float4(x, offsets, power, 0.0f);
}

// Over the lanes whose chunks make a part; the same in all of them.
__device__ inline float sum_of_part(float value) {
  #pragma unroll
  for (int other = 1; other < PART / CHUNK; other *= 2) {
    value += __shfl_xor_sync(FULL_WARP, value, other);
  }
  return value;
}

__device__ inline auto prepare_hole(const float* levels) {
  const auto place = prepare_with(prepare_pairs, levels);
  if (Finishes<decltype(place)>::value) __pipeline_commit();
  return place;
}

__device__ inline void prepare_x(uint4* x_shared, XPart* x_parts, int padded_K) {
  // Of what a warp brings at once, a lane always has the same plane of a step.
  static_assert(WARP_SIZE * CHUNK % STEP == 0, "whole steps");
  const float offset = offset_of(field_of(threadIdx.x % WARP_SIZE * CHUNK / PLANE % PLANES));
  for_own_halves(x_shared, padded_K, [&](int m, int k, const uint32_t (&pairs)[4], float power) {
    float sum = 0.0f, offsets = 0.0f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = __half22float2(as_half2(pairs[i]));
      sum += pair.x + pair.y;
    }
    if (OFFSETS && !(IS_HALF && ONE_OFFSET)) offsets = sum_of_part(sum * offset);
    sum = sum_of_part(sum);
    if (k < padded_K && k % PART == 0) set_part(x_parts[k / PART * ROWS + m], sum, offsets, power);
  });
}
