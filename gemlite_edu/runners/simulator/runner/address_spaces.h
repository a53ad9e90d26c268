// The address spaces of CUDA. Here all of them lie in one, so an address tells which it is in.
#pragma once
#include "copies.h"
#include "faults.h"

// Of any lane of this block.
inline bool is_local(const void* address) {
  const auto* byte = static_cast<const unsigned char*>(address);
  const unsigned char* first = block->lanes[0].stack_guard;
  return byte >= first && byte < first + block->lanes.size() * STACK_ROOM;
}

// Knows the constants of an instrumented kernel.
inline bool (*is_constant)(const void* address) = [](const void*) { return false; };

// The space that `address` lies in, if that is not global memory; else null.
inline const char* space_besides_global(const void* address) {
  return is_shared(address, 1) ? "shared" : is_local(address) ? "local"
         : is_constant(address) ? "constant" : nullptr;
}

// Ends the run with what a function, called at `place`, got an address of that it cannot take.
inline void report_space(const char* word, const char* space, void* place) {
  interrupted_at = reinterpret_cast<uintptr_t>(place) - 1;
  report("%s %s %u %u %d", word, space, sim_here.block_index.x, sim_here.block_index.y, block->current);
}

inline void check_is_global(const void* address, void* place) {
  const char* space = space_besides_global(address);
  if (space) report_space("space", space, place);
}

inline void check_is_shared(const void* address, void* place) {
  const char* space = space_besides_global(address);
  if (!space || *space != 's') report_space("unshared", space ? space : "global", place);
}

inline void check_takes_atomics(const void* address, void* place) {
  const char* space = space_besides_global(address);
  if (space && *space != 's') report_space("atomic", space, place);
}
