// Where a lane is, and what lanes do together. The runner defines it.
#pragma once
#include <stdint.h>

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

#ifndef SIM_READ_ONLY  // the runner writes what a kernel reads
#define SIM_READ_ONLY
#endif
struct SimHere {
  SIM_READ_ONLY uint3 thread_index, block_index;
  SIM_READ_ONLY dim3 block_size, grid_size;
};

// What an atomic operation leaves where it found a number. Numbers are as wide as the access.
enum class SimAtomic {
  ADD, SUBTRACT, ADD_FLOAT, ADD_DOUBLE, ADD_HALVES, ADD_BFLOAT16S, EXCHANGE, LEAST, MOST,
  LEAST_SIGNED, MOST_SIGNED, INCREMENT, DECREMENT, AND, OR, XOR, COMPARE_AND_SWAP
};

// What a lane hands over in a shuffle; OTHER: a number of no such type, or of several parts.
enum class SimNumber { OTHER, FLOAT, DOUBLE, SIGNED, UNSIGNED };

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
// A barrier of so many threads; no other has accessed shared memory since its block's last barrier.
void sim_meet(int threads);
// The number of threads that came to this barrier with predicate 1.
int sim_count_barrier(int predicate);
void sim_sync_warp(unsigned mask);
// The lanes of the warp that have come to this place, when no other lane can go on.
unsigned sim_active_mask();
// Ballot of `predicate` over the lanes in `mask`.
unsigned sim_vote(unsigned mask, unsigned predicate);
// `value` of lane `source` of this warp; bits all set if that lane is not in `mask`.
uint64_t sim_exchange(unsigned mask, uint64_t value, int source, SimNumber number);
// Writes the value of each lane in `mask` to values[lane]; returns the lanes that came.
unsigned sim_gather(unsigned mask, uint64_t value, uint64_t* values);
// What was at the address, before the operation.
uint64_t sim_atomic(void* address, unsigned bytes, SimAtomic operation, uint64_t operand,
                    uint64_t compare);
// What is stored before it is there before what is stored behind it, for all OS threads.
void sim_fence();
// Nanoseconds since some moment.
uint64_t sim_clock();
// These end the run with a report of who called.
[[noreturn]] void sim_trap();
[[noreturn]] void sim_break_promise(const char* kind);
void sim_refuse_width(int width);
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
void sim_copy_box(void* to, const void* from, int there, int rows, size_t stride, uint64_t* barrier);
// Ends the run if `address` is in shared, local or constant memory: for what reaches global alone.
void sim_only_global(const void* address);
// The number of 32 bits that a GPU has for an address in shared memory, and back.
uint32_t sim_shared_address(const void* shared);
void* sim_at_shared_address(uint32_t address);
}
