// Appended to a kernel's text: one entry that takes the arguments as CUDA's launch does.
#pragma once
#include <stddef.h>

#include <utility>

const int warpSize = 32;

#define SIM_NOT_WATCHED __attribute__((no_sanitize("thread")))

template <typename... Parameters, size_t... I>
SIM_NOT_WATCHED void sim_call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<Parameters*>(arguments[I])...);
}
template <typename... Parameters>
SIM_NOT_WATCHED void sim_call(void (*kernel)(Parameters...), void** arguments) {
  sim_call(kernel, arguments, std::index_sequence_for<Parameters...>());
}

#ifdef SIM_COUNTED
#include "counted_blocks.h"
SIM_FOR_RUNNER SIM_NOT_COUNTED void sim_run_lane(void** arguments) {
  sim_counts = *static_cast<int**>(arguments[0]);
  sim_call(&KERNEL, arguments + 1);
}
#else
SIM_FOR_RUNNER SIM_NOT_WATCHED void sim_run_lane(void** arguments) { sim_call(&KERNEL, arguments); }
#endif

// Touching one thread_local makes this OS thread's copy of all of them, the shared memory, exist.
__thread unsigned char sim_touched;
SIM_FOR_RUNNER void* sim_touch_shared() { return &sim_touched; }
