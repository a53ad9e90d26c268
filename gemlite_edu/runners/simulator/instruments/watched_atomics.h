// Atomic operations: no race among themselves, but one with a plain access that nothing orders.
#pragma once
#include "watched_places.h"

inline bool is_atomic(const Event& e) {
  return e.manner == Event::ATOMIC || e.manner == Event::ATOMIC_WRITE;
}

// Of the atomic operations on a byte, one that a plain access races with; null if there is none.
// block: the number of the access's block, or 0 in shared memory, which has one block alone.
inline const Access* AtomicByte::race_with(int thread, uint64_t in_block, uint32_t epoch,
                                           const LaneClock& clock) const {
  if (other_block && other_block != in_block) return &other;
  for (const Access& access : accesses.readers) {
    if (!access.epoch) continue;
    if (block != in_block || is_race(access, thread, epoch, clock)) return &access;
  }
  return nullptr;
}

inline void AtomicByte::remember(const Access& access, uint64_t in_block, const LaneClock& clock) {
  if (block && block != in_block) {
    other_block = block;
    other = accesses.readers[0];
    accesses = {};
  }
  block = in_block;
  accesses.remember_reader(access, clock);
}

inline bool Watch::is_written_atomically(const AtomicByte& byte) const {
  return byte.accesses.readers[0].epoch >= first_epoch_;
}

inline void Watch::check_shared_atomic(const Event& e, int thread, size_t at) {
  if (!shared_atomics_) shared_atomics_ = zeroed<AtomicByte>(library.shared_bytes);
  const Access now = access_of(e.place, thread);
  const LaneClock& clock = lanes[static_cast<size_t>(thread)].clock;
  const Access* race = nullptr;
  bool race_writes = false, unwritten = false;
  for (size_t i = at; i < at + e.size; ++i) {
    const SharedByte& plain = shadow_[i];
    AtomicByte& atomic = shared_atomics_[i];
    if (is_race(plain.writer, thread, epoch, clock)) race = &plain.writer, race_writes = true;
    if (!race) race = plain.reader_in_race(thread, epoch, clock);
    unwritten |= plain.writer.epoch < first_epoch_ && !is_written_atomically(atomic);
    atomic.remember(now, 0, clock);
  }
  if (race) add_finding(Fault::RACE, e, thread, race, race_writes);
  if (unwritten && e.manner == Event::ATOMIC) add_finding(Fault::UNWRITTEN, e, thread);
}

// The plain access to a shared byte meets an atomic one.
inline const Access* Watch::atomic_in_race(size_t at, unsigned size, int thread) const {
  const LaneClock& clock = lanes[static_cast<size_t>(thread)].clock;
  for (size_t i = at; shared_atomics_ && i < at + size; ++i) {
    if (const Access* race = shared_atomics_[i].race_with(thread, 0, epoch, clock)) return race;
  }
  return nullptr;
}

inline void Watch::check_output_atomic(const Event& e, int thread) {
  const size_t output = output_of(e.object);
  AtomicByte* atomics = outputs.atomics_for(output, bytes_of(e.object));
  const Access now = access_of(e.place, thread);
  const LaneClock& clock = lanes[static_cast<size_t>(thread)].clock;
  const uint64_t block = uint64_t(moment_.block) + 1;
  bool unwritten = false, races = false;
  for (int64_t i = e.offset; i < e.offset + e.size; ++i) {
    const std::lock_guard<std::mutex> lock(outputs.lock_of(i));
    OutputByte& plain = outputs.bytes[output][i];
    AtomicByte& atomic = atomics[i];
    const bool is_first_read = e.manner == Event::ATOMIC && !outputs.is_written(output, i);
    unwritten |= is_first_read;
    if (is_first_read) plain.remember_first_reader(block, now);
    if (!races) races = add_output_race(e, thread, plain, block, clock);
    atomic.remember(now, block, clock);
  }
  if (unwritten && is_tensor(e.object)) add_finding(Fault::UNWRITTEN, e, thread);
}

// The plain access to a byte of an output meets an atomic one of this block or of another.
inline bool Watch::add_race_with_atomic(const Event& e, int thread, int64_t at, uint64_t block,
                                        const LaneClock& clock) {
  const AtomicByte* atomics = outputs.atomics[output_of(e.object)];
  if (!atomics) return false;
  const AtomicByte& atomic = atomics[at];
  const Access* race = atomic.race_with(thread, block, epoch, clock);
  if (!race) return false;
  const uint64_t its_block = race == &atomic.other ? atomic.other_block : atomic.block;
  const int64_t more = its_block == block ? -1 : static_cast<int64_t>(its_block) - 1;
  add_finding(Fault::RACE, e, thread, race, true, more);
  return true;
}
