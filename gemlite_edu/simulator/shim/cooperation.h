// Where a lane is, and the four things that lanes do together. The runner defines them.
#pragma once
#include <stdint.h>

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };

struct SimHere {
  uint3 thread_index, block_index;
  dim3 block_size, grid_size;
};

extern "C" {
extern __thread SimHere sim_here;
void sim_barrier();
// Ballot of `predicate` over the lanes in `mask`; with 0 everywhere it is a plain __syncwarp.
unsigned sim_vote(unsigned mask, unsigned predicate);
// `value` of lane `source` of this warp; bits all set if that lane is not in `mask`.
uint64_t sim_exchange(unsigned mask, uint64_t value, int source);
}
