// half and __nv_bfloat16: 16 bits of storage, float arithmetic, rounded to nearest even.
// Rounding a float result once more is exact for + - * /: a float has more than twice their digits.
#pragma once
#include <stdint.h>
#include <string.h>

inline uint32_t sim_float_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}
inline float sim_bits_float(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

// A double as a float that rounds on to 16 bits as the double itself would: where something is cut
// off, the last bit is set (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums:
// proved algorithms using rounding to odd", 2008).
inline float sim_round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (nearest == value || nearest != nearest || nearest - nearest != 0) return nearest;
  const bool is_too_far = (nearest > value) == (value > 0);
  return sim_bits_float((sim_float_bits(nearest) - is_too_far) | 1u);
}

struct SimHalfFormat {
  static uint16_t encode(float value) {
    const uint32_t bits = sim_float_bits(value), sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return 0x7FFFu;   // CUDA's one NaN
    if (magnitude >= 0x47800000u) return sign | 0x7C00u;          // 65536 and beyond: infinity
    if (magnitude < 0x38800000u) {                                // subnormal half
      // Adding 0.5f makes the hardware round at 2^-24, the smallest half.
      const float shifted = sim_bits_float(magnitude) + 0.5f;
      return sign | (sim_float_bits(shifted) - 0x3F000000u);
    }
    magnitude += 0xFFFu + ((magnitude >> 13) & 1u);               // nearest, ties to even
    return sign | ((magnitude - 0x38000000u) >> 13);              // 65520 carries into infinity
  }
  static float decode(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFu) << 13;
    if (magnitude >= 0x0F800000u) return sim_bits_float(sign | magnitude | 0x7F800000u);
    // The exponent's bias differs by 112; the product also normalizes subnormals.
    return sim_bits_float(sign | sim_float_bits(sim_bits_float(magnitude) * 0x1p112f));
  }
};

struct SimBfloat16Format {
  static uint16_t encode(float value) {
    const uint32_t bits = sim_float_bits(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFFu;       // CUDA's one NaN
    return (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  }
  static float decode(uint16_t bits) { return sim_bits_float(static_cast<uint32_t>(bits) << 16); }
};

template <typename Format>
struct SimSixteenBits {
  uint16_t bits;
  SimSixteenBits() = default;
  // Written out, because a copy that the compiler makes by itself has no line in the debug info.
  SimSixteenBits(const SimSixteenBits& other) : bits(other.bits) {}
  SimSixteenBits& operator=(const SimSixteenBits& other) {
    bits = other.bits;
    return *this;
  }
  SimSixteenBits(float value) : bits(Format::encode(value)) {}
  SimSixteenBits(double value) : SimSixteenBits(static_cast<float>(value)) {}
  SimSixteenBits(int value) : SimSixteenBits(static_cast<float>(value)) {}
  SimSixteenBits(unsigned value) : SimSixteenBits(static_cast<float>(value)) {}
  operator float() const { return Format::decode(bits); }

  // Friends, so that half + float stays ambiguous, as it is under nvcc.
  friend SimSixteenBits operator+(SimSixteenBits a, SimSixteenBits b) { return float(a) + float(b); }
  friend SimSixteenBits operator-(SimSixteenBits a, SimSixteenBits b) { return float(a) - float(b); }
  friend SimSixteenBits operator*(SimSixteenBits a, SimSixteenBits b) { return float(a) * float(b); }
  friend SimSixteenBits operator/(SimSixteenBits a, SimSixteenBits b) { return float(a) / float(b); }
  friend SimSixteenBits operator-(SimSixteenBits a) { return -float(a); }
  SimSixteenBits& operator+=(SimSixteenBits b) { return *this = *this + b; }
  SimSixteenBits& operator-=(SimSixteenBits b) { return *this = *this - b; }
  SimSixteenBits& operator*=(SimSixteenBits b) { return *this = *this * b; }
  SimSixteenBits& operator/=(SimSixteenBits b) { return *this = *this / b; }
};
