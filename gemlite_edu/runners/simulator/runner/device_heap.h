// malloc, free, new and delete in a kernel. The linker makes a kernel call these (build.py).
// CUDA C++ Programming Guide, "Dynamic Global Memory Allocation": 8 MB, and null beyond.
#pragma once
#include <map>
#include <mutex>
#include <new>

#include "lanes.h"
#include "tensors.h"

constexpr size_t HEAP_BYTES = size_t(8) << 20;

class DeviceHeap {
 public:
  // Filled with a pattern that is no number in every float format; null if there is no room.
  void* allocate(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!bytes || bytes > HEAP_BYTES - used_) return nullptr;
    auto* begin = static_cast<unsigned char*>(::operator new(bytes, std::align_val_t(16)));
    memset(begin, POISON, bytes);
    blocks_[begin] = bytes;
    used_ += bytes;
    return begin;
  }

  // False if no block begins there.
  bool release(void* begin) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto block = blocks_.find(static_cast<unsigned char*>(begin));
    if (block == blocks_.end()) return false;
    used_ -= block->second;
    blocks_.erase(block);
    ::operator delete(begin, std::align_val_t(16));
    return true;
  }

  // True if all bytes are in one block.
  bool contains(const void* address, size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto* byte = static_cast<const unsigned char*>(address);
    auto next = blocks_.upper_bound(const_cast<unsigned char*>(byte));
    if (next == blocks_.begin()) return false;
    const auto& [begin, size] = *--next;
    return byte + bytes <= begin + size;
  }

  void release_all() {
    while (!blocks_.empty()) release(blocks_.begin()->first);
  }

 private:
  std::mutex mutex_;
  std::map<unsigned char*, size_t> blocks_;  // those that are in use: where they begin, their bytes
  size_t used_ = 0;
};
inline DeviceHeap device_heap;

inline void release_on_heap(void* begin) {
  if (!begin || device_heap.release(begin)) return;
  report("heap %u %u %d", sim_here.block_index.x, sim_here.block_index.y, block->current);
}

extern "C" void* __wrap_malloc(size_t bytes) { return device_heap.allocate(bytes); }
extern "C" void __wrap_free(void* begin) { release_on_heap(begin); }
extern "C" void* __wrap__Znwm(size_t bytes) { return device_heap.allocate(bytes); }   // new
extern "C" void* __wrap__Znam(size_t bytes) { return device_heap.allocate(bytes); }   // new[]
extern "C" void __wrap__ZdlPv(void* begin) { release_on_heap(begin); }                // delete
extern "C" void __wrap__ZdaPv(void* begin) { release_on_heap(begin); }                // delete[]
extern "C" void __wrap__ZdlPvm(void* begin, size_t) { release_on_heap(begin); }
extern "C" void __wrap__ZdaPvm(void* begin, size_t) { release_on_heap(begin); }
