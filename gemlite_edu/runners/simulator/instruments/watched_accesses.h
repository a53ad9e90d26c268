// What is wrong with one access: outside, misaligned, unwritten, a race.
#pragma once
#include "watched_atomics.h"
#include "watched_copies.h"

// Bytes that one instruction moves of it.
inline unsigned piece_of(const Event& e) {
  if (e.manner != Event::BYTES) return e.size;
  return e.size % WORD_BYTES == 0 && e.offset % WORD_BYTES == 0 ? WORD_BYTES : 1;
}

inline void Watch::check(const Event& e, int thread) {
  if ((e.manner == Event::TYPED || is_atomic(e)) && e.offset % e.size != 0) {
    add_finding(Fault::MISALIGNED, e, thread);
    fatal_place = e.place;
    report("misaligned access");
  }
  stop_if_fatal(e, thread);
  if (!is_inside(e)) {
    add_finding(Fault::OUTSIDE, e, thread);
    check_part_inside(e, thread);
  } else if (is_variable(e.object)) {
    check_output(e, thread);
  } else if (!is_tensor(e.object)) {
    check_shared(e, thread);
  } else if (tensors[static_cast<size_t>(e.object)].is_output) {
    check_output(e, thread);
  }
}

// Reports an access that the guard pages would stop anyway, before it happens, with its place.
inline void Watch::stop_if_fatal(const Event& e, int thread) const {
  if (!is_tensor(e.object)) return;
  const Tensor& t = tensors[static_cast<size_t>(e.object)];
  const unsigned char* byte = t.data + e.offset;
  const bool is_in_pages = byte >= t.region && byte + e.size <= t.region + t.region_bytes;
  if (is_in_pages && (t.writable || !e.writes)) return;
  fatal_place = e.place;
  report("%s %s %" PRId64 " %u %u %d", is_inside(e) ? "readonly" : e.writes ? "writes" : "reads",
         t.name.c_str(), first_outside(e), sim_here.block_index.x, sim_here.block_index.y, thread);
}

inline void Watch::stop_after_overrun(int lane) const {
  const Overrun& overrun = lanes[static_cast<size_t>(lane)].overrun;
  if (!overrun.place) return;
  interrupted_at = reinterpret_cast<uintptr_t>(overrun.place) - 1;
  report("undefined %u %u %d index %" PRId64 " %s", sim_here.block_index.x, sim_here.block_index.y,
         lane, overrun.index, overrun.array);
}

// Checks the part of a large copy that lies inside its object.
inline void Watch::check_part_inside(Event e, int thread) {
  const size_t bytes = bytes_of(e.object);
  if (is_tensor(e.object) || is_variable(e.object) || e.offset < 0 || static_cast<size_t>(e.offset) >= bytes) return;
  e.size = static_cast<unsigned>(bytes - static_cast<size_t>(e.offset));
  check_shared(e, thread);
}

inline void Watch::check_shared(const Event& e, int thread) {
  const auto array = static_cast<size_t>(e.object) - tensors.size();
  const size_t at = sites.arrays[array].offset + static_cast<size_t>(e.offset);
  if (add_pending(e, thread, at)) return;
  if (is_atomic(e)) return check_shared_atomic(e, thread, at);
  SharedByte* bytes = shadow_ + at;
  const Access now = access_of(e.place, thread);
  const LaneClock& clock = lanes[static_cast<size_t>(thread)].clock;
  const Access* race = atomic_in_race(at, e.size, thread);
  bool race_writes = race != nullptr, unwritten = false;
  for (unsigned i = 0; i < e.size; ++i) {
    SharedByte& byte = bytes[i];
    if (is_race(byte.writer, thread, epoch, clock)) race = &byte.writer, race_writes = true;
    if (e.writes) {
      if (!race) race = byte.reader_in_race(thread, epoch, clock);
    } else {
      unwritten |= byte.writer.epoch < first_epoch_ &&
                   !(shared_atomics_ && is_written_atomically(shared_atomics_[at + i]));
    }
    if (race) break;
  }
  if (race) add_finding(Fault::RACE, e, thread, race, race_writes);
  if (unwritten) add_finding(Fault::UNWRITTEN, e, thread);
  for (unsigned i = 0; i < e.size; ++i) {
    if (e.writes) bytes[i].writer = now;
    else bytes[i].remember_reader(now, clock);
  }
}

inline void Watch::check_output(const Event& e, int thread) {
  if (is_atomic(e)) return check_output_atomic(e, thread);
  const size_t output = output_of(e.object);
  const Access now = access_of(e.place, thread);
  const LaneClock& clock = lanes[static_cast<size_t>(thread)].clock;
  const uint64_t block = uint64_t(moment_.block) + 1;
  bool unwritten = false, races = false;
  std::unique_lock<std::mutex> lock(outputs.lock_of(e.offset));
  for (int64_t i = e.offset; i < e.offset + e.size; ++i) {
    if (i % BYTES_OF_LINE == 0 && i > e.offset) {
      lock.unlock();
      lock = std::unique_lock<std::mutex>(outputs.lock_of(i));
    }
    OutputByte& byte = outputs.bytes[output][i];
    const bool is_first_read = !e.writes && !outputs.is_written(output, i);
    unwritten |= is_first_read;
    if (is_first_read) byte.remember_first_reader(block, now);
    if (!races) races = add_race_with_atomic(e, thread, i, block, clock);
    if (!races) races = add_output_race(e, thread, byte, block, clock);
    if (e.writes) {
      byte.writing_block = block;
      byte.accesses.writer = now;
    } else {
      byte.remember_reader_of(block, now, clock);
    }
  }
  if (unwritten && is_tensor(e.object)) add_finding(Fault::UNWRITTEN, e, thread);
}

// Another block's access is a race whenever one of the two writes: nothing orders blocks.
inline bool Watch::add_output_race(const Event& e, int thread, const OutputByte& byte,
                                   uint64_t block, const LaneClock& clock) {
  const auto add = [&](const Access& other, bool other_writes, uint64_t other_block) {
    const int64_t more = other_block == block ? -1 : static_cast<int64_t>(other_block) - 1;
    add_finding(Fault::RACE, e, thread, &other, other_writes, more);
    return true;
  };
  if (byte.writing_block) {
    const bool races = byte.writing_block != block ||
                       is_race(byte.accesses.writer, thread, epoch, clock);
    if (races) return add(byte.accesses.writer, true, byte.writing_block);
  }
  if (!e.writes || !byte.reading_block) return false;
  for (const Access& reader : byte.accesses.readers) {
    if (!reader.epoch) continue;
    const bool races = byte.reading_block != block || is_race(reader, thread, epoch, clock);
    if (races) return add(reader, false, byte.reading_block);
  }
  const uint64_t other = byte.other_reading_block;
  return other && other != block && add(byte.other_reader, false, other);
}
