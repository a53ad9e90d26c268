// Two halfwords or four bytes in a word, each by itself. CUDA Math API, "SIMD Intrinsics".
#pragma once
#include <limits>

#include "integer_intrinsics.h"
#include "qualifiers.h"

// op(x, y) of each part of the words as T; an operation gives an int, of which the low bits are kept.
template <typename T, typename Operation>
__forceinline__ auto sim_each_part(unsigned a, unsigned b, Operation operation) {
  constexpr int bits = 8 * sizeof(T);
  constexpr unsigned low = (1u << bits) - 1;
  unsigned result = 0;
  for (int at = 0; at < 32; at += bits) {
    const int part = operation(static_cast<T>(a >> at), static_cast<T>(b >> at));
    result |= (static_cast<unsigned>(part) & low) << at;
  }
  return result;
}
template <typename T, typename Operation>
__forceinline__ auto sim_sum_of_parts(unsigned a, unsigned b, Operation operation) {
  constexpr int bits = 8 * sizeof(T);
  unsigned sum = 0;
  for (int at = 0; at < 32; at += bits) {
    sum += static_cast<unsigned>(operation(static_cast<T>(a >> at), static_cast<T>(b >> at)));
  }
  return sum;
}
template <typename T>
auto sim_clamp(int value) {
  const int least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  return value < least ? least : value > most ? most : value;
}

#define SIM_PARTS2(NAME, T, EXPRESSION)                                    \
  inline unsigned NAME(unsigned a, unsigned b) {                           \
    return sim_each_part<T>(a, b, [](int x, int y) { return EXPRESSION; }); \
  }
#define SIM_PARTS1(NAME, T, EXPRESSION)                                 \
  inline unsigned NAME(unsigned a) {                                    \
    return sim_each_part<T>(a, 0, [](int x, int) { return EXPRESSION; }); \
  }
#define SIM_SUM_OF_PARTS(NAME, T, EXPRESSION)                                 \
  inline unsigned NAME(unsigned a, unsigned b) {                              \
    return sim_sum_of_parts<T>(a, b, [](int x, int y) { return EXPRESSION; }); \
  }
#define SIM_COMPARE(NUMBER, T, NAME, EXPRESSION)                 \
  SIM_PARTS2(__vcmp##NAME##NUMBER, T, (EXPRESSION) ? -1 : 0)     \
  SIM_PARTS2(__vset##NAME##NUMBER, T, (EXPRESSION) ? 1 : 0)

// S and U are the signed and the unsigned type of a part.
#define SIM_SIMD(NUMBER, S, U)                                       \
  SIM_PARTS2(__vadd##NUMBER, U, x + y)                               \
  SIM_PARTS2(__vaddss##NUMBER, S, sim_clamp<S>(x + y))               \
  SIM_PARTS2(__vaddus##NUMBER, U, sim_clamp<U>(x + y))               \
  SIM_PARTS2(__vsub##NUMBER, U, x - y)                               \
  SIM_PARTS2(__vsubss##NUMBER, S, sim_clamp<S>(x - y))               \
  SIM_PARTS2(__vsubus##NUMBER, U, sim_clamp<U>(x - y))               \
  SIM_PARTS2(__vavgs##NUMBER, S, (x + y + (x + y >= 0)) >> 1)        \
  SIM_PARTS2(__vavgu##NUMBER, U, (x + y + 1) >> 1)                   \
  SIM_PARTS2(__vhaddu##NUMBER, U, (x + y) >> 1)                      \
  SIM_PARTS2(__vmaxs##NUMBER, S, x < y ? y : x)                      \
  SIM_PARTS2(__vmaxu##NUMBER, U, x < y ? y : x)                      \
  SIM_PARTS2(__vmins##NUMBER, S, x < y ? x : y)                      \
  SIM_PARTS2(__vminu##NUMBER, U, x < y ? x : y)                      \
  SIM_PARTS2(__vabsdiffs##NUMBER, S, x < y ? y - x : x - y)          \
  SIM_PARTS2(__vabsdiffu##NUMBER, U, x < y ? y - x : x - y)          \
  SIM_PARTS1(__vabs##NUMBER, S, x < 0 ? -x : x)                      \
  SIM_PARTS1(__vabsss##NUMBER, S, sim_clamp<S>(x < 0 ? -x : x))      \
  SIM_PARTS1(__vneg##NUMBER, S, -x)                                  \
  SIM_PARTS1(__vnegss##NUMBER, S, sim_clamp<S>(-x))                  \
  SIM_SUM_OF_PARTS(__vsads##NUMBER, S, x < y ? y - x : x - y)        \
  SIM_SUM_OF_PARTS(__vsadu##NUMBER, U, x < y ? y - x : x - y)        \
  SIM_COMPARE(NUMBER, U, eq, x == y)                                 \
  SIM_COMPARE(NUMBER, U, ne, x != y)                                 \
  SIM_COMPARE(NUMBER, S, ges, x >= y)                                \
  SIM_COMPARE(NUMBER, S, gts, x > y)                                 \
  SIM_COMPARE(NUMBER, S, les, x <= y)                                \
  SIM_COMPARE(NUMBER, S, lts, x < y)                                 \
  SIM_COMPARE(NUMBER, U, geu, x >= y)                                \
  SIM_COMPARE(NUMBER, U, gtu, x > y)                                 \
  SIM_COMPARE(NUMBER, U, leu, x <= y)                                \
  SIM_COMPARE(NUMBER, U, ltu, x < y)
SIM_SIMD(2, short, unsigned short)
SIM_SIMD(4, signed char, unsigned char)
