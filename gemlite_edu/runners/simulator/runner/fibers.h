// The fibers in which the lanes of a block run.
#pragma once
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "warp_operations.h"

// A lane's fiber lives as long as its OS thread and runs that lane of every block there.
inline void live_as_lane() {
  for (;;) {
    launch.run_lane(launch.arguments.data());
    block->lanes[block->current].state = State::DONE;
    complete_without(block->current);
    yield_to_scheduler();
  }
}

// Of lanes that go equally deep, the first one outgrows its stack first.
inline size_t lines_above(size_t lane) { return LINES_OF_PAGE - 1 - lane % LINES_OF_PAGE; }

inline void create_lanes(size_t count) {
  void* room = mmap(nullptr, count * STACK_ROOM, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) report("memory %s", strerror(errno));
  auto* guard = static_cast<unsigned char*>(room);
  for (size_t i = 0; i < count; ++i, guard += STACK_ROOM) {
    if (mprotect(guard + STACK_GUARD, STACK_AND_LINES, PROT_READ | PROT_WRITE)) {
      report("memory %s", strerror(errno));
    }
    block->lanes[i].stack_guard = guard;
    block->lanes[i].stack = new_stack(guard + STACK_ROOM - lines_above(i) * LINE, live_as_lane);
  }
}

// Lanes are numbered along x first.
inline uint3 thread_index_of(unsigned lane) {
  const dim3& shape = launch.block;
  if (lane < shape.x) return {lane, 0, 0};
  return {lane % shape.x, lane / shape.x % shape.y, lane / shape.x / shape.y};
}

inline void resume(int index) {
  block->current = index;
  sim_here.thread_index = thread_index_of(static_cast<unsigned>(index));
  switch_stack(&block->scheduler, block->lanes[static_cast<size_t>(index)].stack);
}
