// What -fsanitize=kernel-address calls: whether each access to a lane's own stack lies inside a
// local variable. Compiled code marks the bytes around its local variables in a shadow, one byte
// for eight, and puts a description of them at the start of a function's frame.
#pragma once
#include <sys/mman.h>

#include "undefined.h"

constexpr uintptr_t SHADOW = 0x7fff8000;  // as build.py tells the compiler
constexpr size_t SHADOWED = 8;
inline bool has_guarded_locals = false;
constexpr unsigned char LEFT_OF_FRAME = 0xF1;
constexpr uintptr_t FRAME = 0x41B58AB3;

inline unsigned char* shadow_of(const void* address) {
  return reinterpret_cast<unsigned char*>(reinterpret_cast<uintptr_t>(address) / SHADOWED + SHADOW);
}

// Before the lanes' first block.
inline void create_shadow_of_stacks() {
  const unsigned char* first = block->lanes[0].stack_guard;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(shadow_of(first)) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(shadow_of(first + block->lanes.size() * STACK_ROOM));
  auto* wanted = reinterpret_cast<void*>(begin);
  const void* room = mmap(wanted, end - begin + page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (room != wanted) report("memory %s", strerror(errno));
}

inline bool is_between_variables(const unsigned char* byte) {
  const auto usable = static_cast<signed char>(*shadow_of(byte));
  return usable && usable <= static_cast<int>(reinterpret_cast<uintptr_t>(byte) % SHADOWED);
}

struct LocalVariable {
  const unsigned char* begin = nullptr;
  size_t bytes = 0;
  char name[64] = "";
};

// The variable of the frame that lies nearest. frame: its description is "2 32 16 3 v:4 64 4 1 n":
// how many variables, and of each its offset, its bytes, the length of its name and that name.
inline LocalVariable nearest_variable(const unsigned char* frame, const unsigned char* byte) {
  LocalVariable nearest;
  size_t least = SIZE_MAX;
  char* text = reinterpret_cast<char* const*>(frame)[1];
  for (unsigned long left = strtoul(text, &text, 10); left > 0; --left) {
    const unsigned char* begin = frame + strtoul(text, &text, 10);
    const size_t bytes = strtoul(text, &text, 10), length = strtoul(text, &text, 10);
    const size_t distance = static_cast<size_t>(byte < begin ? begin - byte : byte - begin - bytes);
    if (distance < least) {
      least = distance;
      nearest.begin = begin;
      nearest.bytes = bytes;
      snprintf(nearest.name, sizeof nearest.name, "%.*s",
               static_cast<int>(strcspn(text + 1, ": ")), text + 1);
    }
    text += 1 + length;
  }
  return nearest;
}

inline LocalVariable variable_beside(const unsigned char* byte) {
  const unsigned char* lowest =
      block->lanes[static_cast<size_t>(block->current)].stack_guard + STACK_GUARD;
  const auto* at = byte - reinterpret_cast<uintptr_t>(byte) % SHADOWED;
  while (at > lowest && *shadow_of(at) != LEFT_OF_FRAME) at -= SHADOWED;
  while (at - SHADOWED > lowest && *shadow_of(at - SHADOWED) == LEFT_OF_FRAME) at -= SHADOWED;
  const bool is_frame = *reinterpret_cast<const uintptr_t*>(at) == FRAME;
  return is_frame ? nearest_variable(at, byte) : LocalVariable();
}

// Of what lies below the frames of all functions that run, no description says what it was.
inline bool is_unused(const unsigned char* byte) {
  return byte < static_cast<const unsigned char*>(__builtin_frame_address(0));
}

inline void check_local(const void* address, size_t size, bool writes, void* place) {
  if (!block || !is_own(address)) return;
  const auto* byte = static_cast<const unsigned char*>(address);
  const uint3& at = sim_here.block_index;
  const uintptr_t instruction = reinterpret_cast<uintptr_t>(place) - library_here.begin;
  if (is_unused(byte)) report("unused %zx %u %u %d", instruction, at.x, at.y, block->current);
  for (const unsigned char* end = byte + size; byte < end; ++byte) {
    if (!is_between_variables(byte)) continue;
    const LocalVariable beside = variable_beside(byte);
    report("local %zx %u %u %d %s %td %zu %d", instruction, at.x, at.y, block->current,
           beside.name, byte - beside.begin, beside.bytes, writes);
  }
}

extern "C" {
#define CHECK(bytes)                                                       \
  void __asan_load##bytes##_noabort(const void* address) {                 \
    check_local(address, bytes, false, __builtin_return_address(0));       \
  }                                                                        \
  void __asan_store##bytes##_noabort(const void* address) {                \
    check_local(address, bytes, true, __builtin_return_address(0));        \
  }
CHECK(1)
CHECK(2)
CHECK(4)
CHECK(8)
CHECK(16)
#undef CHECK
void __asan_loadN_noabort(const void* address, size_t size) {
  check_local(address, size, false, __builtin_return_address(0));
}
void __asan_storeN_noabort(const void* address, size_t size) {
  check_local(address, size, true, __builtin_return_address(0));
}
void __asan_handle_no_return() {}
// What a kernel that is compiled so calls in place of the C library's.
void* __wrap_memmove(void* to, const void* from, size_t size) {
  check_local(from, size, false, __builtin_return_address(0));
  check_local(to, size, true, __builtin_return_address(0));
  return memmove(to, from, size);
}
void* __wrap_memcpy(void* to, const void* from, size_t size) {
  check_local(from, size, false, __builtin_return_address(0));
  check_local(to, size, true, __builtin_return_address(0));
  return memmove(to, from, size);
}
void* __wrap_memset(void* to, int value, size_t size) {
  check_local(to, size, true, __builtin_return_address(0));
  return memset(to, value, size);
}
}
