// Atomic operations. CUDA C++ Programming Guide, "Atomic Functions": each returns what was there.
// The runner carries them out (runner/atomics.h), for threads of one block and of all blocks alike.
#pragma once
#include "cooperation.h"

template <typename T>
auto sim_atomically(SimAtomic operation, T* address, T value, T compare = T()) {
  uint64_t operand = 0, expected = 0;
  __builtin_memcpy(&operand, &value, sizeof(T));
  __builtin_memcpy(&expected, &compare, sizeof(T));
  const uint64_t before = sim_atomic(address, sizeof(T), operation, operand, expected);
  __builtin_memcpy(&value, &before, sizeof(T));
  return value;
}

#define SIM_ATOMIC_NAMED(NAME, T, OPERATION)                                            \
  inline T NAME(T* address, T value) { return sim_atomically<T>(OPERATION, address, value); }
#define SIM_ATOMIC(NAME, T, OPERATION)          \
  SIM_ATOMIC_NAMED(NAME, T, OPERATION)          \
  SIM_ATOMIC_NAMED(NAME##_block, T, OPERATION)  \
  SIM_ATOMIC_NAMED(NAME##_system, T, OPERATION)
#define SIM_ATOMICS_OF_INTEGERS(T, LEAST, MOST)  \
  SIM_ATOMIC(atomicAdd, T, SimAtomic::ADD)       \
  SIM_ATOMIC(atomicExch, T, SimAtomic::EXCHANGE) \
  SIM_ATOMIC(atomicMin, T, LEAST)                \
  SIM_ATOMIC(atomicMax, T, MOST)                 \
  SIM_ATOMIC(atomicAnd, T, SimAtomic::AND)       \
  SIM_ATOMIC(atomicOr, T, SimAtomic::OR)         \
  SIM_ATOMIC(atomicXor, T, SimAtomic::XOR)
SIM_ATOMICS_OF_INTEGERS(int, SimAtomic::LEAST_SIGNED, SimAtomic::MOST_SIGNED)
SIM_ATOMICS_OF_INTEGERS(unsigned, SimAtomic::LEAST, SimAtomic::MOST)
SIM_ATOMICS_OF_INTEGERS(unsigned long long, SimAtomic::LEAST, SimAtomic::MOST)
SIM_ATOMIC(atomicMin, long long, SimAtomic::LEAST_SIGNED)
SIM_ATOMIC(atomicMax, long long, SimAtomic::MOST_SIGNED)
SIM_ATOMIC(atomicAnd, long long, SimAtomic::AND)
SIM_ATOMIC(atomicOr, long long, SimAtomic::OR)
SIM_ATOMIC(atomicXor, long long, SimAtomic::XOR)
SIM_ATOMIC(atomicSub, int, SimAtomic::SUBTRACT)
SIM_ATOMIC(atomicSub, unsigned, SimAtomic::SUBTRACT)
SIM_ATOMIC(atomicInc, unsigned, SimAtomic::INCREMENT)
SIM_ATOMIC(atomicDec, unsigned, SimAtomic::DECREMENT)
SIM_ATOMIC(atomicAdd, float, SimAtomic::ADD_FLOAT)
SIM_ATOMIC(atomicAdd, double, SimAtomic::ADD_DOUBLE)
SIM_ATOMIC(atomicExch, float, SimAtomic::EXCHANGE)

#define SIM_ATOMIC_CAS_NAMED(NAME, T)                                               \
  inline T NAME(T* address, T compare, T value) {                                   \
    return sim_atomically<T>(SimAtomic::COMPARE_AND_SWAP, address, value, compare); \
  }
#define SIM_ATOMIC_CAS(T)                    \
  SIM_ATOMIC_CAS_NAMED(atomicCAS, T)         \
  SIM_ATOMIC_CAS_NAMED(atomicCAS_block, T)   \
  SIM_ATOMIC_CAS_NAMED(atomicCAS_system, T)
SIM_ATOMIC_CAS(int)
SIM_ATOMIC_CAS(unsigned)
SIM_ATOMIC_CAS(unsigned long long)
SIM_ATOMIC_CAS(unsigned short)
