// What a text promises to the compiler. nvcc believes it, so that a false promise ends the run here.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "cooperation.h"

#ifndef __clang__  // which has it
inline __attribute__((always_inline)) void __builtin_assume(bool condition) {
  if (!condition) sim_break_promise("assumed");
}
#endif

inline __attribute__((always_inline)) void* sim_assume_aligned(const void* address, size_t alignment,
                                                               size_t offset = 0) {
  if ((reinterpret_cast<uintptr_t>(address) - offset) % alignment) sim_break_promise("aligned");
  return const_cast<void*>(address);
}
#define __builtin_assume_aligned sim_assume_aligned
