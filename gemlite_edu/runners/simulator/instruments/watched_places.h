// Where an access lies: in which tensor or array, and whether inside it.
#pragma once
#include "watch.h"

inline bool Watch::locate(uintptr_t address, Event& event) const {
  const auto base = reinterpret_cast<uintptr_t>(library.shared);
  if (library.shared && address - base < library.shared_bytes) return locate_shared(address - base, event);
  const auto* byte = reinterpret_cast<const unsigned char*>(address);
  const Tensor* tensor = find_tensor(byte);
  if (!tensor) return library.contains(byte) && locate_variable(address - library.begin, event);
  event.object = static_cast<int>(tensor - tensors.data());
  event.offset = byte - tensor->data;
  return true;
}

// Between two arrays an address belongs to the nearer one.
inline bool Watch::locate_shared(size_t at, Event& event) const {
  size_t nearest = 0, least = SIZE_MAX;
  for (size_t i = 0; i < sites.arrays.size(); ++i) {
    const SharedArray& array = sites.arrays[i];
    const size_t end = array.offset + array.bytes;
    const size_t distance = at < array.offset ? array.offset - at : at < end ? 0 : at - end + 1;
    if (array.kind == SharedArray::NOT_SHARED && distance > 0) continue;
    if (distance < least) nearest = i, least = distance;
  }
  if (least == SIZE_MAX || sites.arrays[nearest].kind == SharedArray::NOT_SHARED) return false;
  event.object = static_cast<int>(tensors.size() + nearest);
  event.offset = static_cast<int64_t>(at) - static_cast<int64_t>(sites.arrays[nearest].offset);
  return true;
}

inline bool Watch::locate_variable(size_t at, Event& event) const {
  const std::vector<Variable>& all = sites.variables;
  const auto behind = std::upper_bound(
      all.begin(), all.end(), at, [](size_t place, const Variable& v) { return place < v.offset; });
  if (behind == all.begin() || at - (behind - 1)->offset >= (behind - 1)->bytes) return false;
  event.object = static_cast<int>(tensors.size() + sites.arrays.size()) +
                 static_cast<int>(behind - 1 - all.begin());
  event.offset = static_cast<int64_t>(at - (behind - 1)->offset);
  return true;
}

inline size_t Watch::bytes_of(int object) const {
  if (is_variable(object)) return variable(object).bytes;
  if (is_tensor(object)) return tensors[static_cast<size_t>(object)].bytes;
  const SharedArray& array = sites.arrays[static_cast<size_t>(object) - tensors.size()];
  return array.kind == SharedArray::DYNAMIC ? launch.shared_bytes : array.bytes;
}

inline bool Watch::is_inside(const Event& e) const {
  return e.offset >= 0 && static_cast<size_t>(e.offset) + e.size <= bytes_of(e.object);
}

// Of the bytes of an access, the first that is not there; its own first byte if all are.
inline int64_t Watch::first_outside(const Event& e) const {
  const auto bytes = static_cast<int64_t>(bytes_of(e.object));
  return e.offset < 0 || is_inside(e) ? e.offset : std::max(e.offset, bytes);
}

inline void Watch::add_finding(Fault fault, const Event& event, int thread, const Access* other,
                               bool other_writes, int64_t more) {
  Finding found;
  found.count = 1;
  found.moment = moment_;
  found.thread = thread;
  found.writes = event.writes;
  found.offset = is_tensor(event.object) ? first_outside(event) : event.offset;
  found.size = event.size;
  found.other_thread = other ? other->thread : -1;
  found.other_writes = other_writes;
  found.more = more;
  const int other_site = other ? other->site : -1;
  const FindingKey key = {fault, event.object, sites.site(event.place), other_site};
  findings.add(key, found);
  if (Recording::is_of(moment_.block, thread / WARP_SIZE)) recording.add_fault(key, found);
  const bool is_of_other = other && more < 0 && Recording::is_of(moment_.block, other->thread / WARP_SIZE);
  if (is_of_other) recording.add_fault_of_other(key, found, other->thread % WARP_SIZE);
}
