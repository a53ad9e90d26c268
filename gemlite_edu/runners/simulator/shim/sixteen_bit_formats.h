// Floats to 16 bits and back: half, and bfloat16, which is the upper half of a float.
#pragma once
#include "number_conversions.h"

// A double whose last bit is set where it leaves something out, so that rounding it on to fewer bits
// gives what rounding the exact value would (Boldo and Melquiond, "Emulation of a FMA and correctly
// rounded sums: proved algorithms using rounding to odd", 2008).
inline double sim_double_to_odd(SimExact exact) {
  const uint64_t bits = sim_as<uint64_t>(exact.near);
  if (exact.rest == 0 || exact.near - exact.near != 0 || bits & 1) return exact.near;
  return sim_as<double>((exact.rest > 0) == (exact.near > 0) ? bits + 1 : bits - 1);
}
// The same of a double in a float.
inline float sim_round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (nearest == value || nearest != nearest || nearest - nearest != 0) return nearest;
  const bool is_too_far = (nearest > value) == (value > 0);
  return sim_as<float>((sim_as<uint32_t>(nearest) - is_too_far) | 1u);
}

struct SimHalfFormat {
  static uint16_t encode(float value) {
    const uint32_t bits = sim_as<uint32_t>(value), sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return 0x7FFFu;   // CUDA's one NaN
    if (magnitude >= 0x47800000u) return sign | 0x7C00u;          // 65536 and beyond: infinity
    if (magnitude < 0x38800000u) {                                // subnormal half
      // Adding 0.5f makes the hardware round at 2^-24, the smallest half.
      const float shifted = sim_as<float>(magnitude) + 0.5f;
      return sign | (sim_as<uint32_t>(shifted) - 0x3F000000u);
    }
    magnitude += 0xFFFu + ((magnitude >> 13) & 1u);               // nearest, ties to even
    return sign | ((magnitude - 0x38000000u) >> 13);              // 65520 carries into infinity
  }
  static float decode(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFu) << 13;
    if (magnitude >= 0x0F800000u) return sim_as<float>(sign | magnitude | 0x7F800000u);
    // The exponent's bias differs by 112; the product also normalizes subnormals.
    return sim_as<float>(sign | sim_as<uint32_t>(sim_as<float>(magnitude) * 0x1p112f));
  }
};

struct SimBfloat16Format {
  static uint16_t encode(float value) {
    const uint32_t bits = sim_as<uint32_t>(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFFu;       // CUDA's one NaN
    return (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  }
  static float decode(uint16_t bits) { return sim_as<float>(static_cast<uint32_t>(bits) << 16); }
};

// The next value of T above, and below; where 16 bits end, infinity.
template <typename T>
auto sim_step(T value, bool up) {
  if ((value.bits & 0x7FFFu) == 0) return T::of_bits(up ? 0x0001u : 0x8001u);
  const bool grows = up == (value.bits < 0x8000u);
  return T::of_bits(grows ? value.bits + 1u : value.bits - 1u);
}
template <typename T, SimRounding rounding>
auto sim_round_to_sixteen(SimExact exact) {
  const T nearest = T::of(exact);
  if (rounding == SimRounding::NEAREST || exact.near - exact.near != 0) return nearest;
  double behind = exact.near - static_cast<double>(static_cast<float>(nearest));
  if (behind == 0) behind = exact.rest;
  const bool is_negative = exact.near < 0;
  const bool goes_up = rounding == SimRounding::UP || (rounding == SimRounding::ZERO && is_negative);
  if (behind == 0 || (behind > 0) != goes_up) return nearest;
  return sim_step(nearest, goes_up);
}
