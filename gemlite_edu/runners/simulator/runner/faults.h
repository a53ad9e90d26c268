// Turns the signals of a kernel that accessed unmapped memory into lines of the report.
#pragma once
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include "lanes.h"
#include "tensors.h"

// A lane's local arrays and calls have outgrown its stack.
inline bool is_in_own_stack_guard(const void* address) {
  if (!block) return false;
  const auto* byte = static_cast<const unsigned char*>(address);
  const unsigned char* guard = block->lanes[block->current].stack_guard;
  return guard && byte >= guard && byte < guard + STACK_GUARD;
}

// The instruction that a signal came from; 0 where there was none, or on an unknown machine.
inline thread_local uintptr_t interrupted_at = 0;

inline uintptr_t instruction_of(const void* context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
  return 0;
#endif
}

inline void on_fault(int signal, siginfo_t* info, void* context) {
  const SimHere& here = sim_here;
  const int lane = block ? block->current : 0;
  if (is_in_own_stack_guard(info->si_addr)) {
    report("stack %zu -1 %u %u %d", STACK >> 10, here.block_index.x, here.block_index.y, lane);
  }
  interrupted_at = instruction_of(context);
  if (info->si_code == SI_KERNEL) {  // x86: an aligned access of 16 bytes at another address
    report("misaligned %u %u %d", here.block_index.x, here.block_index.y, lane);
  }
  auto* address = static_cast<unsigned char*>(info->si_addr);
  if (signal == SIGSEGV || signal == SIGBUS) {
    if (const Tensor* t = find_tensor(address)) {
      const bool inside = address >= t->region && address < t->region + t->region_bytes;
      report("%s %s %td %u %u %d", inside ? "readonly" : "outside", t->name.c_str(), address - t->data,
             here.block_index.x, here.block_index.y, lane);
    }
  }
  report("signal %d %p %u %u %d", signal, info->si_addr, here.block_index.x, here.block_index.y,
         lane);
}

inline void catch_faults() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

inline void use_own_signal_stack() {
  stack_t stack = {};
  stack.ss_size = size_t(64) << 10;
  stack.ss_sp = malloc(stack.ss_size);
  sigaltstack(&stack, nullptr);
}
