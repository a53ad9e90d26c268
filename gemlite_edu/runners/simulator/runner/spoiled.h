// A run that is spoiled on purpose: what a lane gets of a shuffle, or what a block finds in its shared
// arrays behind a barrier, are other numbers. If the outputs are the same all the same, the kernel
// makes no use of them.
#pragma once
#include <string.h>

#include "shared_memory.h"

enum Spoiled { NOTHING_SPOILED, SPOILED_SHUFFLES, SPOILED_SHARED };
inline unsigned long spoiled = NOTHING_SPOILED;

// A high bit of the mantissa of a half, of a float and of a double.
inline uint64_t spoiled_shuffle(uint64_t value) {
  return spoiled == SPOILED_SHUFFLES ? value ^ 0x0040004000400040u : value;
}

// By sums, so that the next barrier does not bring the numbers back.
inline void spoil_shared_arrays() {
  if (spoiled != SPOILED_SHARED) return;
  for (size_t at = 0; at + sizeof(uint16_t) <= library_here.shared_bytes; at += sizeof(uint16_t)) {
    uint16_t piece;
    memcpy(&piece, library_here.shared + at, sizeof piece);
    piece = static_cast<uint16_t>(piece + 0x0040);
    memcpy(library_here.shared + at, &piece, sizeof piece);
  }
}
