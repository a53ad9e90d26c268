// Tensors: each between two guards, its end on a page's end as nearly as 256 bytes allow.
#pragma once
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report.h"

constexpr size_t GUARD = size_t(16) << 20;
constexpr size_t ALIGNMENT = 256;
constexpr unsigned char POISON = 0xFF;  // a NaN in every float format
inline const size_t PAGE = static_cast<size_t>(sysconf(_SC_PAGESIZE));

struct Tensor {
  std::string name;
  unsigned char* region;  // whole pages
  size_t region_bytes;
  unsigned char* data;
  size_t bytes;
  bool writable, is_output;  // scratch is writable too
  int64_t element_bytes;
};
inline std::vector<Tensor> tensors;

// The tensor whose memory or guards hold `address`; null if there is none.
inline const Tensor* find_tensor(const void* address) {
  const auto* byte = static_cast<const unsigned char*>(address);
  for (const Tensor& t : tensors) {
    if (byte >= t.region - GUARD && byte < t.region + t.region_bytes + GUARD) return &t;
  }
  return nullptr;
}

inline size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

inline Tensor map_tensor(int memfd, const std::string& name, size_t offset, size_t bytes, char access,
                         int64_t element_bytes) {
  const bool is_output = access == 'w', writable = is_output || access == 's';
  const size_t region_bytes = round_up(round_up(bytes, ALIGNMENT), PAGE);
  void* room = mmap(nullptr, region_bytes + 2 * GUARD, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) report("memory %s", strerror(errno));
  void* region = mmap(static_cast<unsigned char*>(room) + GUARD, region_bytes,
                      writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_FIXED, memfd,
                      static_cast<off_t>(offset));
  if (region == MAP_FAILED) report("memory %s", strerror(errno));
  auto* start = static_cast<unsigned char*>(region);
  return {name, start, region_bytes, start + region_bytes - round_up(bytes, ALIGNMENT), bytes, writable,
          is_output, element_bytes};
}

inline void unmap_tensors() {
  for (const Tensor& t : tensors) munmap(t.region - GUARD, t.region_bytes + 2 * GUARD);
  tensors.clear();
}

// `end` if there is none. memcmp compares many bytes at a time: each with its neighbour.
inline const unsigned char* first_not_poison(const unsigned char* begin, const unsigned char* end) {
  if (begin == end) return end;
  const size_t neighbours = static_cast<size_t>(end - begin) - 1;
  if (*begin == POISON && memcmp(begin, begin + 1, neighbours) == 0) return end;
  return std::find_if(begin, end, [](unsigned char byte) { return byte != POISON; });
}

// Writes that stayed inside the pages but outside the tensor leave a trace in the poison there.
inline void check_margins() {
  for (const Tensor& t : tensors) {
    const unsigned char *end = t.data + t.bytes, *region_end = t.region + t.region_bytes;
    const unsigned char* written = first_not_poison(t.region, t.data);
    if (written == t.data) written = first_not_poison(end, region_end);
    if (written != region_end) report("outside %s %td -1 -1 -1", t.name.c_str(), written - t.data);
  }
}
