// Lanes are fibers on the OS thread that runs their block.
#pragma once
#include <stdint.h>

#include <vector>

#include "../shim/cooperation.h"
#include "report.h"
#include "switch_stack.h"

constexpr size_t STACK = size_t(512) << 10;        // CUDA gives a thread as much local memory
constexpr size_t STACK_GUARD = size_t(1) << 20;
// Neighbours' stacks begin on other lines of a page: at equal distances they would share few sets of
// the cache.
constexpr size_t LINE = 64, LINES_OF_PAGE = 64;
constexpr size_t STACK_AND_LINES = STACK + (size_t(64) << 10);  // pages of any machine's size
constexpr size_t STACK_ROOM = STACK_GUARD + STACK_AND_LINES;
constexpr int WARP_SIZE = 32;

enum class WarpOperation { EXCHANGE, VOTE, SYNC, GATHER, LOAD_MATRIX, STORE_MATRIX, MULTIPLY };
inline const char* name_of(WarpOperation operation) {
  constexpr const char* NAMES[] = {"shuffle",          "vote",              "__syncwarp", "match",
                                   "load_matrix_sync", "store_matrix_sync", "mma_sync"};
  return NAMES[static_cast<int>(operation)];
}
enum class State { READY, AT_BARRIER, AT_MEETING, AT_WARP_OPERATION, AT_ACTIVE_MASK, AT_PHASE, DONE };

struct Lane {
  unsigned char* stack_guard = nullptr;
  void* stack = nullptr;  // its pointer, where the lane has stopped
  State state = State::DONE;
  unsigned mask = 0;     // of the warp operation it waits at
  WarpOperation operation = WarpOperation::SYNC;
  uint64_t given = 0;    // its value there, or its predicate at a barrier
  int source = 0;
  SimNumber number = SimNumber::OTHER;  // what the value of a shuffle is
  uint64_t taken = 0;    // what the exchange gave it
  unsigned ballot = 0;
  uint64_t* gathered = nullptr;  // where it wants the values of all lanes
  const void* place = nullptr;   // where it asks which lanes are active
  const void* matrices = nullptr;  // what a matrix operation has from it
  int line = 0;  // of the text where that operation stands, if the instruments know it
  const uint64_t* barrier = nullptr;  // in shared memory, for the end of whose phase it waits
  int phase = 0;
};

struct Launch {
  void (*run_lane)(void**);
  std::vector<void*> arguments;
  unsigned grid_x, grid_y, threads;
  dim3 block;  // its shape: threads in all
  size_t shared_bytes, shared_limit;  // dynamic: what the launch asked for, what a block may have
};
inline Launch launch;

// The lanes of the block that this OS thread runs.
struct Block {
  std::vector<Lane> lanes;
  void* scheduler = nullptr;  // its stack, while a lane runs
  int current = 0;
  int predicates = 0;  // lanes that came to the last barrier with predicate 1
  int at_meeting = 0;  // lanes that wait for others to meet them
};
inline thread_local Block* block = nullptr;

inline bool is_of_lane(int lane, const void* address) {
  const auto* byte = static_cast<const unsigned char*>(address);
  const unsigned char* stack = block->lanes[static_cast<size_t>(lane)].stack_guard;
  return static_cast<size_t>(byte - stack) < STACK_ROOM;
}
inline bool is_own(const void* address) { return is_of_lane(block->current, address); }

[[gnu::always_inline]] inline void yield_to_scheduler() {
  Block& b = *block;
  switch_stack(&b.lanes[static_cast<size_t>(b.current)].stack, b.scheduler);
}
