// What CUDA C++ has and the host compiler lacks, in terms of the runner (runner.cpp).
// The simulator includes it before a kernel's text, as nvcc does with its own.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cooperation.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __constant__ static const
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// One block is one thread of the host, its lanes are fibers on it.
#define __shared__ thread_local

#define threadIdx (sim_here.thread_index)
#define blockIdx (sim_here.block_index)
#define blockDim (sim_here.block_size)
#define gridDim (sim_here.grid_size)
constexpr int warpSize = 32;

template <typename T>
T __ldg(const T* address) { return *address; }

inline void __syncthreads() { sim_barrier(); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { sim_vote(mask, 0); }
inline unsigned __ballot_sync(unsigned mask, int predicate) { return sim_vote(mask, predicate != 0); }
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <typename T>
T sim_shuffle(unsigned mask, T value, int source_lane) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves at most 8 bytes per lane");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  bits = sim_exchange(mask, bits, source_lane);
  memcpy(&value, &bits, sizeof(T));
  return value;
}

inline int sim_lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }

// CUDA C++ Programming Guide, "Warp Shuffle Functions": a source outside the lane's segment of
// `width` lanes means the lane's own value.
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return sim_shuffle(mask, value, (sim_lane() & ~(width - 1)) | (source & (width - 1)));
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = sim_lane(), source = lane + static_cast<int>(delta);
  return sim_shuffle(mask, value, source <= (lane | (width - 1)) ? source : lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = sim_lane(), source = lane - static_cast<int>(delta);
  return sim_shuffle(mask, value, source >= (lane & ~(width - 1)) ? source : lane);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const int lane = sim_lane(), source = lane ^ lane_mask;
  return sim_shuffle(mask, value, source <= (lane | (width - 1)) ? source : lane);
}

template <typename T>
T min(T a, T b) { return b < a ? b : a; }
template <typename T>
T max(T a, T b) { return a < b ? b : a; }
