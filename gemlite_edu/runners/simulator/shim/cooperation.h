// Where a lane is, and what lanes do together. The runner defines it.
#pragma once
#include <stdint.h>

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };

struct SimHere {
  uint3 thread_index, block_index;
  dim3 block_size, grid_size;
};

// A matrix in memory; to load or store it, all lanes of a warp must pass the same description.
struct SimMatrix {
  const void* address;
  unsigned ldm, element_bytes;
  bool by_rows;
};

// One lane's part of d = a b + c: the elements of its fragments. a is m x 16, b is 16 x n.
struct SimProduct {
  int m, n;
  bool is_signed;
  const void *a, *b;
  const int* c;
  int* d;
};

extern "C" {
extern __thread SimHere sim_here;
void sim_barrier();
void sim_sync_warp(unsigned mask);
// Ballot of `predicate` over the lanes in `mask`.
unsigned sim_vote(unsigned mask, unsigned predicate);
// `value` of lane `source` of this warp; bits all set if that lane is not in `mask`.
uint64_t sim_exchange(unsigned mask, uint64_t value, int source);
// All lanes of the warp come and name their matrix, before each moves its own elements.
void sim_meet_to_load(const SimMatrix* own);
void sim_meet_to_store(const SimMatrix* own);
// All lanes of the warp come, and then every `d` is there.
void sim_multiply(const SimProduct* own);
// Barriers in shared memory, and copies that they count: runner/shared_barriers.h.
void sim_make_barrier(uint64_t* barrier, int arrivals);
void sim_arrive(uint64_t* barrier, int bytes);
void sim_wait_for_phase(uint64_t* barrier, int phase);
void sim_bulk_copy(void* to, const void* from, int bytes, uint64_t* barrier);
}
