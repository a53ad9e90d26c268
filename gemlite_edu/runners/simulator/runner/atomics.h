// Atomic operations: one for all lanes and OS threads, by compare-and-swap of the host.
#pragma once
#include <stdint.h>
#include <string.h>

#include "../shim/cooperation.h"
#include "../shim/sixteen_bit_formats.h"
#include "tensors.h"

template <typename T>
T as_number(uint64_t bits) {
  T number;
  memcpy(&number, &bits, sizeof number);
  return number;
}
template <typename T>
uint64_t as_bits(T number) {
  uint64_t bits = 0;
  memcpy(&bits, &number, sizeof number);
  return bits;
}

// PTX ISA, "red": adding floats in global memory takes numbers below 2^-126 for 0, and gives 0 for
// them; in shared memory it does not.
inline float without_subnormal(float value, bool is_global) {
  return is_global && fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}
inline uint64_t sum_of_floats(uint64_t a, uint64_t b, bool is_global) {
  const float x = without_subnormal(as_number<float>(a), is_global);
  const float y = without_subnormal(as_number<float>(b), is_global);
  return as_bits(without_subnormal(x + y, is_global));
}

// One or two numbers of 16 bits, each by itself.
template <typename Format>
uint64_t sum_of_sixteen_bits(uint64_t a, uint64_t b, unsigned bytes) {
  uint64_t sum = 0;
  for (unsigned at = 0; at < 8 * bytes; at += 16) {
    const float x = Format::decode(static_cast<uint16_t>(a >> at));
    const float y = Format::decode(static_cast<uint16_t>(b >> at));
    sum |= static_cast<uint64_t>(Format::encode(x + y)) << at;
  }
  return sum;
}

inline int64_t as_signed(uint64_t bits, unsigned bytes) {
  return bytes == 4 ? static_cast<int32_t>(bits) : static_cast<int64_t>(bits);
}

struct AtomicOperation {
  SimAtomic kind;
  unsigned bytes;
  uint64_t operand, compare;
  bool is_global;

  // What it leaves where it finds `before`.
  uint64_t after(uint64_t before) const {
    switch (kind) {
      case SimAtomic::ADD: return before + operand;
      case SimAtomic::SUBTRACT: return before - operand;
      case SimAtomic::ADD_FLOAT: return sum_of_floats(before, operand, is_global);
      case SimAtomic::ADD_DOUBLE:
        return as_bits(as_number<double>(before) + as_number<double>(operand));
      case SimAtomic::ADD_HALVES:
        return sum_of_sixteen_bits<SimHalfFormat>(before, operand, bytes);
      case SimAtomic::ADD_BFLOAT16S:
        return sum_of_sixteen_bits<SimBfloat16Format>(before, operand, bytes);
      case SimAtomic::EXCHANGE: return operand;
      case SimAtomic::LEAST: return std::min(before, operand);
      case SimAtomic::MOST: return std::max(before, operand);
      case SimAtomic::LEAST_SIGNED: return is_less(before) ? before : operand;
      case SimAtomic::MOST_SIGNED: return is_less(before) ? operand : before;
      case SimAtomic::INCREMENT: return before >= operand ? 0 : before + 1;
      case SimAtomic::DECREMENT: return before == 0 || before > operand ? operand : before - 1;
      case SimAtomic::AND: return before & operand;
      case SimAtomic::OR: return before | operand;
      case SimAtomic::XOR: return before ^ operand;
      case SimAtomic::COMPARE_AND_SWAP: return before == compare ? operand : before;
    }
    return before;
  }

  bool is_less(uint64_t before) const { return as_signed(before, bytes) < as_signed(operand, bytes); }
};

template <typename Word>
uint64_t change_atomically(void* address, const AtomicOperation& operation) {
  auto* word = static_cast<Word*>(address);
  Word before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(word, &before, static_cast<Word>(operation.after(before)),
                                      false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return before;
}

// Returns what was at the address before.
inline uint64_t change_atomically(void* address, unsigned bytes, SimAtomic kind, uint64_t operand,
                                  uint64_t compare) {
  const AtomicOperation operation = {kind, bytes, operand, compare, find_tensor(address) != nullptr};
  if (bytes == 2) return change_atomically<uint16_t>(address, operation);
  if (bytes == 4) return change_atomically<uint32_t>(address, operation);
  return change_atomically<uint64_t>(address, operation);
}
