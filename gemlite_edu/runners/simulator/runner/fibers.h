// The fibers in which the lanes of a block run.
#pragma once
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "warp_operations.h"

// A lane's fiber lives as long as its OS thread and runs that lane of every block there.
inline void live_as_lane() {
  for (;;) {
    block->lanes[block->current].state = State::DONE;
    complete_without(block->current);
    yield_to_scheduler();
    launch.run_lane(launch.arguments.data());
  }
}

inline void create_lane(int index) {
  auto* guard = static_cast<unsigned char*>(mmap(nullptr, STACK_GUARD + STACK, PROT_NONE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (guard == MAP_FAILED || mprotect(guard + STACK_GUARD, STACK, PROT_READ | PROT_WRITE)) {
    report("memory %s", strerror(errno));
  }
  block->lanes[index].stack_guard = guard;
  ucontext_t fresh, back;
  getcontext(&fresh);
  fresh.uc_stack.ss_sp = guard + STACK_GUARD;
  fresh.uc_stack.ss_size = STACK;
  makecontext(&fresh, live_as_lane, 0);
  block->current = index;
  if (_setjmp(block->scheduler) == 0) swapcontext(&back, &fresh);
}

inline void resume(int index) {
  block->current = index;
  sim_here.thread_index = {static_cast<unsigned>(index), 0, 0};
  if (_setjmp(block->scheduler) == 0) _longjmp(block->lanes[index].resume, 1);
}
