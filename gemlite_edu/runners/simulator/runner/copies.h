// Asynchronous copies: each is on its way until its own lane waits for the batch that it is in.
#pragma once
#include <string.h>

#include <vector>

#include "../shim/cuda_pipeline_primitives.h"
#include "lanes.h"
#include "shared_memory.h"
#include "tensors.h"

constexpr size_t MAX_COPY = 16;  // bytes

struct Copy {
  unsigned char* to;
  size_t bytes;
  size_t batch;
  uintptr_t place;  // where the kernel asked for it
  unsigned char data[MAX_COPY];

  bool covers(const unsigned char* byte) const { return byte >= to && byte < to + bytes; }
};

struct LaneCopies {
  std::vector<Copy> on_their_way;  // the oldest first
  size_t batches = 0;              // that are closed; a new copy goes into the next one
};
inline thread_local std::vector<LaneCopies> copies_of;  // the lanes of this OS thread's block

inline LaneCopies& own_copies() { return copies_of[static_cast<size_t>(block->current)]; }

inline bool is_shared(const void* address, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(library_here.shared);
  const size_t at = reinterpret_cast<uintptr_t>(address) - begin;
  return library_here.shared && at < library_here.shared_bytes && at + bytes <= library_here.shared_bytes;
}

// A word for the error in the copy that the kernel requests; null if there is none.
inline const char* mistake_in_copy(const void* to, const void* from, size_t bytes,
                                   size_t zero_filled) {
  const auto is_aligned = [bytes](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % bytes == 0;
  };
  if (bytes != 4 && bytes != 8 && bytes != 16) return "size";
  if (zero_filled > bytes) return "zfill";
  if (!is_shared(to, bytes)) return "notshared";
  if (!is_aligned(to)) return "to";
  if (zero_filled == bytes) return nullptr;  // nothing is read
  if (!find_tensor(from) && !library_here.has_variable(from)) return "notglobal";
  return is_aligned(from) ? nullptr : "from";
}

inline void check_copy(const void* to, const void* from, size_t bytes, size_t zero_filled) {
  const char* mistake = mistake_in_copy(to, from, bytes, zero_filled);
  if (!mistake) return;
  report("copy %s %zu %zu %u %u %d", mistake, bytes, zero_filled, sim_here.block_index.x,
         sim_here.block_index.y, block->current);
}

// Starts a copy; until it is delivered, its destination holds no valid data.
inline const Copy& begin_copy(void* to, const void* from, size_t bytes, size_t zero_filled,
                              void* place) {
  LaneCopies& own = own_copies();
  Copy copy = {};
  copy.to = static_cast<unsigned char*>(to);
  copy.bytes = bytes;
  copy.batch = own.batches;
  copy.place = reinterpret_cast<uintptr_t>(place);
  memcpy(copy.data, from, bytes - zero_filled);
  memset(to, POISON, bytes);
  own.on_their_way.push_back(copy);
  return own.on_their_way.back();
}

// Delivers the current lane's copies, except those in its last `batches_left` closed batches and
// those in no closed batch; calls `tell` for each delivered copy.
template <typename Tell>
void deliver_copies(size_t batches_left, Tell tell) {
  LaneCopies& own = own_copies();
  auto copy = own.on_their_way.begin();
  for (; copy != own.on_their_way.end() && copy->batch + batches_left < own.batches; ++copy) {
    memcpy(copy->to, copy->data, copy->bytes);
    tell(*copy);
  }
  own.on_their_way.erase(own.on_their_way.begin(), copy);
}

// Of the lane's copy that has not delivered `byte` yet: how many batches were closed after its own,
// the most that a wait may leave; -1 if it is in no closed batch.
inline int64_t batches_behind(int lane, const unsigned char* byte) {
  const LaneCopies& own = copies_of[static_cast<size_t>(lane)];
  for (auto copy = own.on_their_way.rbegin(); copy != own.on_their_way.rend(); ++copy) {
    if (copy->covers(byte)) return static_cast<int64_t>(own.batches - copy->batch) - 1;
  }
  return -1;
}
