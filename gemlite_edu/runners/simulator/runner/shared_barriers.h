// Barriers in shared memory. A phase ends when the expected number of lanes has arrived and the
// expected bytes of bulk copies are delivered.
#pragma once
#include <string.h>

#include "copies.h"
#include "lanes.h"

constexpr size_t BULK_UNIT = 16;  // bytes: of addresses and sizes of a bulk copy

// The contents of a barrier's 8 bytes.
struct Phase64 {
  uint64_t number : 16;                  // of the phase that has not ended
  uint64_t arrivals : 12, missing : 12;  // that end a phase; those that this one still waits for
  int64_t bytes : 24;  // announced and not there; copies may come before their announcement
};
static_assert(sizeof(Phase64) == sizeof(uint64_t), "as the kernel declares it");
constexpr int NOT_MADE = 0xFFF;  // arrivals, where nobody has written
constexpr int64_t MOST_BYTES = (1 << 20) - 1;  // that a barrier of a GPU counts
static_assert(POISON == 0xFF, "of which all bits are set");

[[noreturn]] inline void report_barrier(const char* what, long long number, long long bytes = 0) {
  report("barrier %s %lld %lld %u %u %d", what, number, bytes, sim_here.block_index.x,
         sim_here.block_index.y, block->current);
}

inline Phase64 read_phase(const uint64_t* barrier) {
  if (!is_shared(barrier, sizeof *barrier)) report_barrier("notshared", 0);
  Phase64 phase;
  memcpy(&phase, barrier, sizeof phase);
  if (phase.arrivals == NOT_MADE) report_barrier("notmade", 0);
  return phase;
}

inline bool has_ended(const uint64_t* barrier, int phase) {
  return (read_phase(barrier).number & 1) != (phase & 1);
}

// Lanes that wait for a phase of `barrier` that has ended may go on.
inline void write_phase(uint64_t* barrier, Phase64 phase) {
  if (phase.missing == 0 && phase.bytes == 0) {
    ++phase.number;
    phase.missing = phase.arrivals;
  }
  memcpy(barrier, &phase, sizeof phase);
  for (Lane& lane : block->lanes) {
    if (lane.state != State::AT_PHASE || lane.barrier != barrier) continue;
    if (has_ended(barrier, lane.phase)) lane.state = State::READY;
  }
}

inline void make_barrier(uint64_t* barrier, int arrivals) {
  if (!is_shared(barrier, sizeof *barrier)) report_barrier("notshared", 0);
  if (arrivals < 1 || arrivals >= NOT_MADE) report_barrier("arrivals", arrivals);
  Phase64 phase = {};
  phase.arrivals = phase.missing = static_cast<unsigned>(arrivals);
  write_phase(barrier, phase);
}

inline void count_bytes(Phase64& phase, int64_t bytes) {
  const int64_t sum = phase.bytes + bytes;
  if (sum > MOST_BYTES || sum < -MOST_BYTES) report_barrier("bytes", sum);
  phase.bytes = sum;
}

inline void arrive(uint64_t* barrier, int bytes) {
  Phase64 phase = read_phase(barrier);
  if (phase.missing == 0) report_barrier("toomany", phase.arrivals);
  --phase.missing;
  count_bytes(phase, bytes);
  write_phase(barrier, phase);
}

inline void wait_for_phase(uint64_t* barrier, int phase) {
  if (has_ended(barrier, phase)) return;
  Lane& self = block->lanes[static_cast<size_t>(block->current)];
  self.state = State::AT_PHASE;
  self.barrier = barrier;
  self.phase = phase;
  yield_to_scheduler();
}

// A word for the error in a bulk copy; null if there is none.
inline const char* mistake_in_bulk_copy(const void* to, const void* from, int bytes) {
  const auto is_aligned = [](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % BULK_UNIT == 0;
  };
  if (bytes < 1 || bytes % BULK_UNIT) return "bulksize";
  if (!is_aligned(to)) return "bulkto";
  if (!is_aligned(from)) return "bulkfrom";
  if (!is_shared(to, static_cast<size_t>(bytes))) return "bulknotshared";
  const Tensor* tensor = find_tensor(from);
  if (!tensor) return "bulknotglobal";
  const auto* first = static_cast<const unsigned char*>(from);
  const bool is_inside = first >= tensor->data && first + bytes <= tensor->data + tensor->bytes;
  return is_inside ? nullptr : "bulkoutside";
}

[[noreturn]] inline void report_bulk_copy(const char* mistake, int bytes) {
  report("copy %s %d 0 %u %u %d", mistake, bytes, sim_here.block_index.x, sim_here.block_index.y,
         block->current);
}

inline void check_bulk_copy(const void* to, const void* from, int bytes) {
  if (const char* mistake = mistake_in_bulk_copy(to, from, bytes)) report_bulk_copy(mistake, bytes);
}

inline void deliver_bytes(uint64_t* barrier, int bytes) {
  Phase64 phase = read_phase(barrier);
  count_bytes(phase, -static_cast<int64_t>(bytes));
  write_phase(barrier, phase);
}

inline void bulk_copy(void* to, const void* from, int bytes, uint64_t* barrier) {
  check_bulk_copy(to, from, bytes);
  memcpy(to, from, static_cast<size_t>(bytes));
  deliver_bytes(barrier, bytes);
}

// Copies a box of `rows` rows of 128 bytes, 1 or more of which are `there`, `stride` bytes apart from
// `from` on; the others are zeros. Piece i of row r, 16 bytes, goes to place i ^ r % 8: a GPU takes r
// from the address, so a box begins at a multiple of 1024.
inline void copy_box(unsigned char* to, const unsigned char* from, int there, int rows, size_t stride,
                     uint64_t* barrier) {
  constexpr size_t PIECES = 8, ROW = PIECES * BULK_UNIT;
  const char* mistake = reinterpret_cast<uintptr_t>(to) % (PIECES * ROW) ? "boxto"
                        : !is_shared(to, rows * ROW)                      ? "bulknotshared"
                                                                          : nullptr;
  if (mistake) report_bulk_copy(mistake, rows * static_cast<int>(ROW));
  for (int row = 0; row < rows; ++row) {
    const bool is_there = row < there;
    if (is_there) check_bulk_copy(to + row * ROW, from + row * stride, ROW);
    for (size_t piece = 0; piece < PIECES; ++piece) {
      unsigned char* place = to + row * ROW + (piece ^ static_cast<size_t>(row) % PIECES) * BULK_UNIT;
      if (is_there) memcpy(place, from + row * stride + piece * BULK_UNIT, BULK_UNIT);
      else memset(place, 0, BULK_UNIT);
    }
  }
  deliver_bytes(barrier, rows * static_cast<int>(ROW));
}

// Called when no lane can continue: reports the first lane that waits for a phase, if there is one.
inline void report_if_at_phase(const std::vector<Lane>& lanes) {
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].state != State::AT_PHASE) continue;
    const Phase64 phase = read_phase(lanes[i].barrier);
    block->current = static_cast<int>(i);
    report_barrier("stuck", phase.missing, phase.bytes);
  }
}
