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

// Ends the run unless `address` may be in global memory. place: where the kernel asked.
inline void check_is_global(const void* address, void* place) {
  const char* space = space_besides_global(address);
  if (!space) return;
  interrupted_at = reinterpret_cast<uintptr_t>(place) - 1;
  report("space %s %u %u %d", space, sim_here.block_index.x, sim_here.block_index.y, block->current);
}
