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
void sim_sync_warp(unsigned mask);
// Ballot of `predicate` over the lanes in `mask`.
unsigned sim_vote(unsigned mask, unsigned predicate);
// `value` of lane `source` of this warp; bits all set if that lane is not in `mask`.
uint64_t sim_exchange(unsigned mask, uint64_t value, int source);
}
