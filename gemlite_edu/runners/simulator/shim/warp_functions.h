// What the lanes of a warp do together: shuffles, votes, matches, reductions. CUDA C++ Programming
// Guide, "Warp Vote", "Warp Match", "Warp Reduce" and "Warp Shuffle Functions".
#pragma once
#include <type_traits>

#include "bit_intrinsics.h"
#include "qualifiers.h"

inline void __syncthreads() { sim_barrier(); }
inline int __syncthreads_count(int predicate) { return sim_count_barrier(predicate != 0); }
inline int __syncthreads_or(int predicate) { return sim_count_barrier(predicate != 0) != 0; }
inline int __syncthreads_and(int predicate) { return sim_count_barrier(predicate == 0) == 0; }

inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { sim_sync_warp(mask); }
inline unsigned __activemask() { return sim_active_mask(); }
inline unsigned __ballot_sync(unsigned mask, int predicate) { return sim_vote(mask, predicate != 0); }
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <typename T>
auto sim_bits_of(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "lanes give each other at most 8 bytes at a time");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
constexpr SimNumber sim_number() {
  if (std::is_same<T, float>::value) return SimNumber::FLOAT;
  if (std::is_same<T, double>::value) return SimNumber::DOUBLE;
  if (!std::is_integral<T>::value) return SimNumber::OTHER;
  return std::is_signed<T>::value ? SimNumber::SIGNED : SimNumber::UNSIGNED;
}
template <typename T>
T sim_shuffle(unsigned mask, T value, int source_lane) {
  const uint64_t bits = sim_exchange(mask, sim_bits_of(value), source_lane, sim_number<T>());
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

inline int sim_lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }

inline void sim_check_width(int width) {
  if (width < 1 || width > 32 || (width & (width - 1))) sim_refuse_width(width);
}

// CUDA has no shuffles of types below int: these become int. Of a distance only the low five bits
// count. A source outside the lane's segment of `width` lanes means the lane's own value.
template <typename T>
using SimShuffled = typename std::conditional<std::is_integral<T>::value && sizeof(T) < sizeof(int), int, T>::type;

template <typename T>
SimShuffled<T> __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  sim_check_width(width);
  const int first = sim_lane() & ~(width - 1);
  return sim_shuffle<SimShuffled<T>>(mask, value, first | (source & (width - 1)));
}
template <typename T>
SimShuffled<T> __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  sim_check_width(width);
  const int lane = sim_lane(), source = lane + static_cast<int>(delta & 31);
  return sim_shuffle<SimShuffled<T>>(mask, value, source <= (lane | (width - 1)) ? source : lane);
}
template <typename T>
SimShuffled<T> __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  sim_check_width(width);
  const int lane = sim_lane(), source = lane - static_cast<int>(delta & 31);
  return sim_shuffle<SimShuffled<T>>(mask, value, source >= (lane & ~(width - 1)) ? source : lane);
}
template <typename T>
SimShuffled<T> __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  sim_check_width(width);
  const int lane = sim_lane(), source = lane ^ (lane_mask & 31);
  return sim_shuffle<SimShuffled<T>>(mask, value, source <= (lane | (width - 1)) ? source : lane);
}

template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  uint64_t values[32];
  const unsigned there = sim_gather(mask, sim_bits_of(value), values);
  unsigned same = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (there >> lane & 1) same |= (values[lane] == sim_bits_of(value) ? 1u : 0u) << lane;
  }
  return same;
}
template <typename T>
unsigned __match_all_sync(unsigned mask, T value, int* predicate) {
  uint64_t values[32];
  const unsigned there = sim_gather(mask, sim_bits_of(value), values);
  *predicate = 1;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (there >> lane & 1) *predicate &= values[lane] == sim_bits_of(value);
  }
  return *predicate ? there : 0;
}

template <typename T, typename Operation>
auto sim_reduce(unsigned mask, T value, Operation operation) {
  uint64_t values[32];
  const unsigned there = sim_gather(mask, sim_bits_of(value), values);
  T result = value;
  bool is_first = true;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(there >> lane & 1)) continue;
    T other;
    __builtin_memcpy(&other, &values[lane], sizeof(T));
    result = is_first ? other : operation(result, other);
    is_first = false;
  }
  return result;
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return sim_reduce(mask, value, [](unsigned a, unsigned b) { return a + b; });
}
inline int __reduce_add_sync(unsigned mask, int value) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value)));
}
#define SIM_REDUCTION(NAME, T, EXPRESSION)                               \
  inline T __reduce_##NAME##_sync(unsigned mask, T value) {              \
    return sim_reduce(mask, value, [](T a, T b) { return EXPRESSION; }); \
  }
SIM_REDUCTION(min, int, a < b ? a : b)
SIM_REDUCTION(min, unsigned, a < b ? a : b)
SIM_REDUCTION(max, int, a < b ? b : a)
SIM_REDUCTION(max, unsigned, a < b ? b : a)
SIM_REDUCTION(and, unsigned, a & b)
SIM_REDUCTION(or, unsigned, a | b)
SIM_REDUCTION(xor, unsigned, a ^ b)
