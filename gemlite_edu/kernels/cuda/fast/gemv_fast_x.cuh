// The part of a GEMV at the memory limit that brings x to shared memory, as (planes, ROWS, 16), and
// makes halves of it. Each thread goes through what it brought, so it need not wait for the others.
// In scope: PLANES, ROWS, WARPS, and PART: along k, what of a row of x is scaled alike.
//
// Tensor cores take halves, and so does a hole. bfloat16 becomes half without losing a digit, times
// a power of two for each part of a row: its largest |x| comes to 2^14 or above, and what is 2^28
// times smaller than that begins to lose digits. add_step multiplies by what undoes it.
#pragma once
#include <cuda_bf16.h>

#include <type_traits>

#include "copies.cuh"
#include "tensor_core.cuh"

constexpr int CHUNK = 8;  // of x: what a lane brings at once, 16 bytes

// Where 32 bytes of x are: row m of a plane. The rows of neighbouring planes change places, or the
// chunks that a warp brings at once would come to the same banks.
static_assert(ROWS == 1 || PLANES % 4 == 0, "in every step they change places alike");
__host__ __device__ constexpr int x_place(int plane, int m) {
  return plane * ROWS + (m ^ plane % 4 % ROWS);
}
// What a lane multiplies a plane of a step by. lane_x: where its x of the step's first plane is, in
// bytes; as the step begins at a multiple of 128, one XOR does for all planes that are alike.
__device__ inline uint2 met_x(const uint4* x_shared, int lane_x, int plane) {
  const int at = (lane_x ^ plane % 4 % ROWS * 32) + plane * ROWS * 32;
  return *reinterpret_cast<const uint2*>(reinterpret_cast<const char*>(x_shared) + at);
}

constexpr bool IS_HALF = std::is_same<X_T, half>::value;

// Calls visit(m, k, place) for every chunk of x that this thread brings, all lanes of a warp at
// once; place: of the chunk in shared memory.
template <typename Visit>
__device__ inline void for_own_chunks(int padded_K, Visit visit) {
  const int warp_id = threadIdx.x / WARP_SIZE, lane_id = threadIdx.x % WARP_SIZE;
  for (int i = warp_id; i < ceil_div(padded_K, WARP_SIZE * CHUNK) * ROWS; i += WARPS) {
    const int m = i % ROWS, chunk = i / ROWS * WARP_SIZE + lane_id;
    visit(m, chunk * CHUNK, x_place(chunk / 2, m) * 2 + chunk % 2);
  }
}

// Sends this thread's chunks of x on their way to shared memory; zeros where x ends.
__device__ inline void fetch_x(const X_T* x, uint4* x_shared, int M, int K, int padded_K) {
  for_own_chunks(padded_K, [&](int m, int k, int place) {
    const bool is_there = m < M && k < K;
    const size_t from = is_there ? static_cast<size_t>(m) * K + k : 0;
    if (k < padded_K) copy_16_async(&x_shared[place], &x[from], is_there);
  });
  __pipeline_commit();
}

// The largest over the lanes whose chunks make a part; the same in all of them.
__device__ inline float largest_of_part(float value) {
  #pragma unroll
  for (int other = 1; other < PART / CHUNK; other *= 2) {
    value = fmaxf(value, __shfl_xor_sync(FULL_WARP, value, other));
  }
  return value;
}

// Makes two bfloat16 in each of `pairs` two halves. Returns what they are to be multiplied by.
__device__ inline float to_halves(uint32_t (&pairs)[4]) {
  float values[CHUNK], largest = 0.0f;
  #pragma unroll
  for (int i = 0; i < CHUNK; ++i) {
    values[i] = __uint_as_float(i % 2 == 0 ? pairs[i / 2] << 16 : pairs[i / 2] & 0xFFFF0000u);
    largest = fmaxf(largest, fabsf(values[i]));
  }
  // The power of two at or below it, so that 2^14 over it is a number, also for 0 and infinity.
  largest = fminf(fmaxf(largest_of_part(largest), 0x1p-100f), 0x1p127f);
  const float power = __uint_as_float(__float_as_uint(largest) & 0x7F800000u), up = 0x1p14f / power;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    pairs[i] = as_bits(__floats2half2_rn(values[2 * i] * up, values[2 * i + 1] * up));
  }
  return power * 0x1p-14f;
}

// Waits for them, and makes halves of them where they are none. Calls visit(m, k, pairs, power) for
// each, all lanes of a warp at once, those beyond padded_K too; power: what undoes the scaling.
template <typename Visit>
__device__ inline void for_own_halves(uint4* x_shared, int padded_K, Visit visit) {
  __pipeline_wait_prior(0);
  for_own_chunks(padded_K, [&](int m, int k, int place) {
    const bool is_inside = k < padded_K;
    const uint4 chunk = is_inside ? x_shared[place] : make_uint4(0, 0, 0, 0);
    uint32_t pairs[] = {chunk.x, chunk.y, chunk.z, chunk.w};
    const float power = IS_HALF ? 1.0f : to_halves(pairs);
    if (is_inside && !IS_HALF) x_shared[place] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    visit(m, k, pairs, power);
  });
}
