// Instruments for asynchronous copies: they find lanes that access a destination too early, and
// record when it is written.
#pragma once
#include "watched_places.h"

inline void Watch::begin_copy(const Copy& copy) {
  const Access now = access_of(copy.place, block->current);
  pending_.begin(offset_of(copy), copy.bytes, library.shared_bytes, now);
}

inline void Watch::end_copy(const Copy& copy) {
  pending_.end(offset_of(copy), copy.bytes);
  SharedByte* bytes = shadow_ + offset_of(copy);
  const Access now = access_of(copy.place, block->current);
  for (size_t i = 0; i < copy.bytes; ++i) bytes[i].writer = now;
}

// Every read of the old contents happened in an earlier phase.
inline void Watch::bulk_copied(const void* to, size_t bytes) {
  SharedByte* shadow = shadow_ + (static_cast<const unsigned char*>(to) - library.shared);
  for (size_t i = 0; i < bytes; ++i) shadow[i] = {{epoch, 0, NOBODY, 0}, {}};
}

// True if the access touches bytes that an asynchronous copy has not delivered; it adds the fault.
// If nothing orders the two, the access may also come before the copy, so the fault is a race.
inline bool Watch::add_pending(const Event& e, int thread, size_t at) {
  const Access* copy = pending_.find(at, e.size, first_epoch_);
  if (!copy) return false;
  if (is_race(*copy, thread, epoch, lanes[static_cast<size_t>(thread)].clock)) {
    add_finding(Fault::RACE, e, thread, copy, true);
  } else {
    const unsigned char* byte = library.shared + pending_.position(copy);
    add_finding(Fault::PENDING, e, thread, copy, true, batches_behind(copy->thread, byte));
  }
  return true;
}
