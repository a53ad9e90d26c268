// half and __nv_bfloat16: 16 bits of storage, float arithmetic, rounded to nearest even.
// Rounding a float result once more is exact for + - * /: a float has more than twice their digits.
#pragma once
#include "pair_functions.h"
#include "powers.h"
#include "sixteen_bit_formats.h"
#include "sixteen_bit_functions.h"
#include "vectors.h"

template <typename Format, typename Powers>
struct SimSixteenBits : SimSixteenBitArithmetic<SimSixteenBits<Format, Powers>>,
                        SimSixteenBitComparisons<SimSixteenBits<Format, Powers>>,
                        SimSixteenBitMath<SimSixteenBits<Format, Powers>, Powers> {
  uint16_t bits;
  SimSixteenBits() = default;
  SimSixteenBits(float value) : bits(Format::encode(value)) {}
  SimSixteenBits(double value) : SimSixteenBits(sim_round_to_odd(value)) {}
  SimSixteenBits(int value) : SimSixteenBits(static_cast<double>(value)) {}
  SimSixteenBits(unsigned value) : SimSixteenBits(static_cast<double>(value)) {}
  SimSixteenBits(long value) : SimSixteenBits(of(sim_exact_of(value))) {}
  SimSixteenBits(unsigned long value) : SimSixteenBits(of(sim_exact_of(value))) {}
  SimSixteenBits(long long value) : SimSixteenBits(of(sim_exact_of(value))) {}
  SimSixteenBits(unsigned long long value) : SimSixteenBits(of(sim_exact_of(value))) {}
  operator float() const { return Format::decode(bits); }
  // To and from what is volatile, and still copied trivially.
  struct Raw { uint16_t bits; };
  SimSixteenBits(Raw raw) : bits(raw.bits) {}
  operator Raw() const volatile { return {bits}; }
  void operator=(Raw raw) volatile { bits = raw.bits; }

  static SimSixteenBits of_bits(unsigned bits) {
    SimSixteenBits value;
    value.bits = static_cast<uint16_t>(bits);
    return value;
  }
  static SimSixteenBits of(SimExact exact) { return sim_round_to_odd(sim_double_to_odd(exact)); }
};

// For nvcc they could be converted to the operands of several (least_and_most.h).
template <typename A, typename B, typename Of, typename From>
void min(SimSixteenBits<A, Of>, SimSixteenBits<B, From>) = delete;
template <typename A, typename B, typename Of, typename From>
void max(SimSixteenBits<A, Of>, SimSixteenBits<B, From>) = delete;

// Two of them in one register.
template <typename T>
struct alignas(4) SimPair : SimPairArithmetic<T, SimPair<T>>,
                            SimPairComparisons<T, SimPair<T>>,
                            SimPairMath<T, SimPair<T>> {
  T x, y;
  SimPair(T a, T b) : x(a), y(b) {}
  void copy_fields(const SimPair& o) { x = o.x, y = o.y; }
  SIM_COPIED_WHOLE(SimPair)
};
