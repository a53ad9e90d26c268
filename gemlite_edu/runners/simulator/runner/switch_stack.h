// The switch from one fiber to another. A run consists of such switches, which setjmp and longjmp
// would make several times slower.
#pragma once
#include <stddef.h>

// Keeps the registers that a function must not change on the caller's stack, stores that stack's
// pointer in *from, and goes on where the stack `to` was left. It jumps there, because a processor
// expects a ret to go back to the last call.
extern "C" void switch_stack(void** from, void* to);

#if defined(__x86_64__)
asm(R"(
  .text
switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
)");
constexpr size_t KEPT_WORDS = 8, ENTRY_WORD = 6;  // as after a call, 8 bytes remain below the top
#elif defined(__aarch64__)
asm(R"(
  .text
switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  br x30
)");
constexpr size_t KEPT_WORDS = 20, ENTRY_WORD = 11;  // x30
#else
#error "the simulator runs on x86-64 and on 64-bit ARM"
#endif

// A stack that begins to run `entry` when one switches to it. top: its end, a multiple of 16.
inline void* new_stack(void* top, void (*entry)()) {
  void** stack = static_cast<void**>(top) - KEPT_WORDS;
  for (size_t i = 0; i < KEPT_WORDS; ++i) stack[i] = nullptr;
  stack[ENTRY_WORD] = reinterpret_cast<void*>(entry);
  return stack;
}
