// Who wrote and who read each byte of shared memory and each element of an output, and when.
//
// Two accesses are ordered if a barrier stands between them, or, within a warp, a __syncwarp that
// both lanes took part in. Shuffles and votes order nothing (CUDA C++ Programming Guide).
#pragma once
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "../runner/lanes.h"
#include "../runner/report.h"

// A lane counts its __syncwarps, and remembers up to which count of each lane it is in step.
struct LaneClock {
  uint32_t own = 1;
  uint32_t known[WARP_SIZE] = {};
};

// The thread of a bulk copy. Its barrier orders it before the threads that wait there. Nothing
// checks that they wait: in a plain run, the lanes' order turns a missing wait into a wrong result.
constexpr uint16_t NOBODY = 0xFFFF;

struct Access {
  uint32_t epoch = 0;  // of the block: barriers since its worker began
  uint32_t clock = 0;
  uint16_t thread = 0;
  uint32_t site = 0;
};

inline bool is_race(const Access& earlier, int thread, uint32_t epoch, const LaneClock& clock) {
  if (earlier.epoch != epoch || earlier.thread == thread || earlier.thread == NOBODY) return false;
  const bool same_warp = earlier.thread / WARP_SIZE == thread / WARP_SIZE;
  return !same_warp || clock.known[earlier.thread % WARP_SIZE] < earlier.clock;
}

// One byte of shared memory. Of its readers since the last barrier three are kept: two lanes of
// a first warp, and one of another warp.
struct SharedByte {
  Access writer;
  Access readers[3];

  const Access* reader_in_race(int thread, uint32_t epoch, const LaneClock& clock) const {
    for (const Access& reader : readers) {
      if (is_race(reader, thread, epoch, clock)) return &reader;
    }
    return nullptr;
  }

  void remember_reader(const Access& reader, const LaneClock& clock) {
    Access& first = readers[0];
    if (first.epoch != reader.epoch || first.thread == reader.thread) {
      first = reader;
    } else if (first.thread / WARP_SIZE != reader.thread / WARP_SIZE) {
      readers[2] = reader;
    } else {
      readers[is_race(first, reader.thread, reader.epoch, clock)] = reader;
    }
  }
};

constexpr size_t MANY_PAGES = size_t(4) << 20;

// Pages that are never touched cost nothing. Many pages are huge ones if they may be, because the
// first touch of a page takes longer than an access.
template <typename T>
T* zeroed(size_t count) {
  const size_t bytes = count * sizeof(T) + 1;
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) report("memory %s", strerror(errno));
  if (bytes >= MANY_PAGES) madvise(room, bytes, MADV_HUGEPAGE);
  return static_cast<T*>(room);
}

// The atomic operations on one byte: of the last block that had one three, as of readers, and one of
// a block before.
struct AtomicByte {
  uint64_t block, other_block;
  SharedByte accesses;
  Access other;

  const Access* race_with(int thread, uint64_t in_block, uint32_t epoch, const LaneClock&) const;
  void remember(const Access& access, uint64_t in_block, const LaneClock&);
};

// One byte of an output, or of a variable. Blocks are numbered from 1; 0 is nobody.
struct OutputByte {
  uint64_t writing_block, reading_block;
  SharedByte accesses;
  uint64_t other_reading_block;  // than reading_block, before it
  Access other_reader;
  uint64_t first_reading_block;  // that read what no thread of the launch had written
  Access first_reader;

  void remember_reader_of(uint64_t block, const Access& reader, const LaneClock& clock) {
    if (reading_block != block) {
      other_reading_block = reading_block;
      other_reader = accesses.readers[0];
      std::fill_n(accesses.readers, 3, Access{});
    }
    reading_block = block;
    accesses.remember_reader(reader, clock);
  }

  void remember_first_reader(uint64_t block, const Access& reader) {
    if (first_reading_block) return;
    first_reading_block = block;
    first_reader = reader;
  }
};
