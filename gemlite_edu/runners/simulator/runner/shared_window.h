// Addresses in shared memory as a GPU counts them, in 32 bits: from 1,024, because a block's first KiB
// belongs to the system, the static arrays one behind the other, and dynamic shared memory last. Here
// gaps lie between the arrays, and they may come in another order.
#pragma once
#include "../instruments/instruments.h"

constexpr uint32_t BYTES_OF_SYSTEM = 1024;

struct WindowedArray {
  size_t offset;   // in this OS thread's copy of the shared arrays
  uint32_t begin;  // on a GPU
};

inline uint32_t aligned_like(uint32_t address, size_t offset) {
  const uint32_t unit = offset % 128 ? static_cast<uint32_t>(offset & -offset) % 128 : 128;
  return (address + unit - 1) / unit * unit;
}

inline std::vector<WindowedArray> arrays_of_window() {
  if (!instruments) return {{0, BYTES_OF_SYSTEM}};
  std::vector<WindowedArray> found;
  uint32_t next = BYTES_OF_SYSTEM;
  for (const auto kind : {SharedArray::STATIC, SharedArray::DYNAMIC}) {
    for (const SharedArray& array : instruments->sites.arrays) {
      if (array.kind != kind) continue;
      const uint32_t begin = aligned_like(next, array.offset);
      found.push_back({array.offset, begin});
      next = begin + static_cast<uint32_t>(array.bytes);
    }
  }
  return found;
}

// The last array that begins at or before a place, by its offset here or by its address on a GPU.
template <typename Place>
WindowedArray array_at(Place place, Place WindowedArray::*begin) {
  static const std::vector<WindowedArray> arrays = arrays_of_window();
  WindowedArray found = {0, BYTES_OF_SYSTEM};
  bool is_first = true;
  for (const WindowedArray& array : arrays) {
    if (array.*begin > place || (!is_first && array.*begin < found.*begin)) continue;
    found = array;
    is_first = false;
  }
  return found;
}

inline uint32_t shared_address(const void* shared) {
  const size_t at = static_cast<size_t>(static_cast<const unsigned char*>(shared) - library_here.shared);
  const WindowedArray array = array_at(at, &WindowedArray::offset);
  return array.begin + static_cast<uint32_t>(at - array.offset);
}

inline void* at_shared_address(uint32_t address) {
  const WindowedArray array = array_at(address, &WindowedArray::begin);
  return library_here.shared + array.offset + (static_cast<int64_t>(address) - array.begin);
}
