// Watches one worker's blocks: which objects the lanes reach, at what cost, and whether they may.
#pragma once
#include <inttypes.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "../runner/copies.h"
#include "../runner/lanes.h"
#include "../runner/shared_memory.h"
#include "../runner/tensors.h"
#include "findings.h"
#include "ledger.h"
#include "pending.h"
#include "shadow.h"
#include "sites.h"

// What a lane will do when it goes on.
struct Event {
  enum Kind { START, BASIC_BLOCK, ACCESS, MEETING } kind = START;
  uintptr_t place = 0;  // return address of the call that told us
  unsigned rank = 0;    // of that call in the order of the program
  int object = -1;      // a tensor's number, or behind them a shared array's
  int64_t offset = 0;   // in the object
  unsigned size = 0;
  bool writes = false;
  // BYTES: copied with no type that says how they are aligned. ASYNC: by an asynchronous copy,
  // whose addresses were checked, and which no compiler joins with another.
  enum Manner { TYPED, BYTES, ASYNC } manner = TYPED;
};

struct WatchedLane {
  Event event;
  uint64_t turn = 0, turn_before = 0;  // of its warp: when it came to this event, and to the last
  uintptr_t place_before = 0;          // of the last event
  LaneClock clock;
};

// Where the lane stood that ended the run.
inline thread_local uintptr_t fatal_place = 0;

struct Outputs {
  std::vector<OutputByte*> bytes;  // of each tensor; null for inputs
  std::array<std::mutex, 64> locks;  // of bytes, by their number

  std::mutex& lock_of(int64_t byte) { return locks[static_cast<size_t>(byte) % locks.size()]; }
};

class Watch {
 public:
  Sites& sites;
  Outputs& outputs;
  const Library library = find_library();
  Ledger ledger;
  Findings findings;
  std::vector<WatchedLane> lanes;
  uint32_t epoch = 0;

  Watch(Sites& s, Outputs& o, size_t threads) : sites(s), outputs(o), lanes(threads) {}

  void begin_block(unsigned index) {
    moment_ = {index, 0};
    first_epoch_ = ++epoch;
    phase_ = 0;
    if (!shadow_) shadow_ = zeroed<SharedByte>(library.shared_bytes);
    for (WatchedLane& lane : lanes) lane.event = Event{};
  }

  // All lanes that still run have come to a barrier.
  void pass_barrier(int site) {
    ++epoch;
    if (moment_.block == 0 && phase_ + 1 < MAX_PHASES) {
      phase_now().end = site;
      ++phase_;
    }
  }

  uint64_t next_turn() { return ++moment_.turn; }

  // Finds the object that holds `address`; false for what is no concern of ours.
  bool locate(uintptr_t address, Event& event) const;

  // A constant in the kernel's library, or what the compiler keeps beside the shared arrays.
  bool is_of_compiler(const void* address) const {
    const auto* byte = static_cast<const unsigned char*>(address);
    return library.contains(address) ||
           static_cast<size_t>(byte - library.shared) < library.shared_bytes;
  }

  // The lanes in `warp_lanes` make one request, each as its event says.
  void commit(int warp, const int* warp_lanes, int count);

  // Lanes of a warp have passed a __syncwarp together.
  void join_clocks(int first, unsigned mask);

  // A copy is on its way: its destination belongs to it. It is written when its lane has waited.
  void begin_copy(const Copy& copy);
  void end_copy(const Copy& copy);
  void bulk_copied(const void* to, size_t bytes);

  void add_unwritten_outputs();
  void add_mergeable(const Event& event) { row_of(event).mergeable++; }
  // more: of a race, the other thread's block where that is another; of Fault::LEFT, the lanes; of
  // Fault::PENDING, the batches that were closed behind the copy.
  void add_finding(Fault fault, const Event& event, int thread, const Access* other = nullptr,
                   bool other_writes = false, int64_t more = -1);

 private:
  Moment moment_;
  uint32_t first_epoch_ = 0;
  size_t phase_ = 0;
  SharedByte* shadow_ = nullptr;
  Pending pending_;
  Trace latest_;

  bool locate_shared(size_t at, Event& event) const;
  Phase& phase_now() {
    if (ledger.phases.size() <= phase_) ledger.phases.resize(phase_ + 1);
    return ledger.phases[phase_];
  }
  Row& row_of(const Event& e) {
    return ledger.rows[{sites.site(e.place), e.object, e.writes, e.size}];
  }
  bool is_tensor(int object) const { return object < static_cast<int>(tensors.size()); }
  Access access_of(uintptr_t place, int thread) const {
    return {epoch, lanes[static_cast<size_t>(thread)].clock.own, static_cast<uint16_t>(thread),
            static_cast<uint32_t>(sites.site(place))};
  }
  size_t offset_of(const Copy& copy) const { return static_cast<size_t>(copy.to - library.shared); }
  size_t bytes_of(int object) const;
  bool is_inside(const Event& event) const;
  int64_t first_outside(const Event& event) const;
  void check(const Event& event, int thread);
  void stop_if_fatal(const Event& event, int thread) const;
  void check_part_inside(Event event, int thread);
  void check_shared(const Event& event, int thread);
  bool add_pending(const Event& event, int thread, size_t at);
  void check_output(const Event& event, int thread);
  bool add_output_race(const Event& event, int thread, const OutputByte& byte, uint64_t block,
                       const LaneClock& clock);
  bool has_lane_behind_loop(int warp, uintptr_t place) const;
  void count(int warp, const Event& event, const Request& request);
};

inline bool Watch::locate(uintptr_t address, Event& event) const {
  const auto base = reinterpret_cast<uintptr_t>(library.shared);
  if (library.shared && address - base < library.shared_bytes) return locate_shared(address - base, event);
  const auto* byte = reinterpret_cast<const unsigned char*>(address);
  const Tensor* tensor = find_tensor(byte);
  if (!tensor) return false;
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

inline size_t Watch::bytes_of(int object) const {
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
  findings.add({fault, event.object, sites.site(event.place), other_site}, found);
}

// Bytes that one instruction moves of it.
inline unsigned piece_of(const Event& e) {
  if (e.manner != Event::BYTES) return e.size;
  return e.size % WORD_BYTES == 0 && e.offset % WORD_BYTES == 0 ? WORD_BYTES : 1;
}

inline void Watch::check(const Event& e, int thread) {
  if (e.manner == Event::TYPED && e.offset % e.size != 0) {
    add_finding(Fault::MISALIGNED, e, thread);
    fatal_place = e.place;
    report("misaligned access");
  }
  stop_if_fatal(e, thread);
  if (!is_inside(e)) {
    add_finding(Fault::OUTSIDE, e, thread);
    check_part_inside(e, thread);
  } else if (!is_tensor(e.object)) {
    check_shared(e, thread);
  } else if (tensors[static_cast<size_t>(e.object)].writable) {
    check_output(e, thread);
  }
}

// What the memory's guards would stop anyway is reported before it happens, with its place.
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

// What a copy of many bytes does to those of them that are there.
inline void Watch::check_part_inside(Event e, int thread) {
  const size_t bytes = bytes_of(e.object);
  if (is_tensor(e.object) || e.offset < 0 || static_cast<size_t>(e.offset) >= bytes) return;
  e.size = static_cast<unsigned>(bytes - static_cast<size_t>(e.offset));
  check_shared(e, thread);
}

inline void Watch::check_shared(const Event& e, int thread) {
  const auto array = static_cast<size_t>(e.object) - tensors.size();
  const size_t at = sites.arrays[array].offset + static_cast<size_t>(e.offset);
  if (add_pending(e, thread, at)) return;
  SharedByte* bytes = shadow_ + at;
  const Access now = access_of(e.place, thread);
  const LaneClock& clock = lanes[static_cast<size_t>(thread)].clock;
  const Access* race = nullptr;
  bool race_writes = false, unwritten = false;
  for (unsigned i = 0; i < e.size; ++i) {
    SharedByte& byte = bytes[i];
    if (is_race(byte.writer, thread, epoch, clock)) race = &byte.writer, race_writes = true;
    if (e.writes) {
      for (const Access& reader : byte.readers) {
        if (!race && is_race(reader, thread, epoch, clock)) race = &reader;
      }
    } else {
      unwritten |= byte.writer.epoch < first_epoch_;
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
  const Access now = access_of(e.place, thread);
  const LaneClock& clock = lanes[static_cast<size_t>(thread)].clock;
  const uint64_t block = uint64_t(moment_.block) + 1;
  bool unwritten = false, races = false;
  for (int64_t i = e.offset; i < e.offset + e.size; ++i) {
    const std::lock_guard<std::mutex> lock(outputs.lock_of(i));
    OutputByte& byte = outputs.bytes[static_cast<size_t>(e.object)][i];
    unwritten |= !e.writes && !byte.writing_block;
    if (!races) races = add_output_race(e, thread, byte, block, clock);
    if (e.writes) {
      byte.writing_block = block;
      byte.accesses.writer = now;
    } else {
      if (byte.reading_block != block) std::fill_n(byte.accesses.readers, 3, Access{});
      byte.reading_block = block;
      byte.accesses.remember_reader(now, clock);
    }
  }
  if (unwritten) add_finding(Fault::UNWRITTEN, e, thread);
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
  return false;
}

inline bool Watch::has_lane_behind_loop(int warp, uintptr_t place) const {
  const size_t first = static_cast<size_t>(warp) * WARP_SIZE;
  for (size_t i = first; i < std::min(first + WARP_SIZE, lanes.size()); ++i) {
    const bool waits = block->lanes[i].state == State::READY;
    if (waits && sites.is_behind_loop(lanes[i].event.place, place)) return true;
  }
  return false;
}

inline void Watch::count(int warp, const Event& event, const Request& request) {
  const bool is_global = is_tensor(event.object);
  Sample sample;
  sample.moment = moment_;
  sample.warp = warp;
  sample.request = request;
  sample.cost = is_global ? global_cost(request) : shared_cost(request, event.writes);
  const Trace trace = {moment_.block, warp, sites.line_of(event.place), event.object,
                       request.lanes, request.size, event.writes, request.offset[0],
                       request.offset[request.lanes - 1]};
  Row& row = ledger.rows[{sites.site(event.place), event.object, event.writes, request.size}];
  const bool may_be_joined = event.manner != Event::ASYNC;
  row.repeated += may_be_joined && row.latest.is_followed_by(trace, 0);
  row.adjacent += may_be_joined && !is_global && latest_.is_followed_by(trace, request.size);
  row.leaving += trace.lanes < row.latest.lanes && row.latest.warp == warp &&
                 row.latest.block == trace.block && has_lane_behind_loop(warp, event.place);
  row.latest = latest_ = trace;
  row.add(sample);
  if (moment_.block == 0) {
    phase_now().requests[static_cast<size_t>(warp)][2u * !is_global + event.writes]++;
  }
}

inline void Watch::commit(int warp, const int* warp_lanes, int count_of_lanes) {
  ++moment_.turn;
  bool counted[WARP_SIZE] = {};
  for (int i = 0; i < count_of_lanes; ++i) {
    check(lanes[static_cast<size_t>(warp_lanes[i])].event, warp_lanes[i]);
  }
  // Lanes at one instruction may still reach several objects: one request to each.
  for (int i = 0; i < count_of_lanes; ++i) {
    if (counted[i]) continue;
    const Event& event = lanes[static_cast<size_t>(warp_lanes[i])].event;
    Request request;
    for (int j = i; j < count_of_lanes; ++j) {
      const Event& other = lanes[static_cast<size_t>(warp_lanes[j])].event;
      if (other.object != event.object || other.size != event.size) continue;
      counted[j] = true;
      request.add(warp_lanes[j] % WARP_SIZE, other.offset);
    }
    // A struct that is no vector is moved in pieces.
    const unsigned piece = piece_of(event);
    request.size = piece;
    for (unsigned done = 0; done < event.size; done += piece) {
      count(warp, event, request);
      for (int j = 0; j < request.lanes; ++j) request.offset[j] += piece;
    }
  }
}

inline void Watch::join_clocks(int first, unsigned mask) {
  uint32_t newest[WARP_SIZE] = {};
  for (int lane = 0; lane < WARP_SIZE; ++lane) {
    if (!(mask >> lane & 1)) continue;
    LaneClock& clock = lanes[static_cast<size_t>(first + lane)].clock;
    clock.known[lane] = clock.own++;
    for (int i = 0; i < WARP_SIZE; ++i) newest[i] = std::max(newest[i], clock.known[i]);
  }
  for (int lane = 0; lane < WARP_SIZE; ++lane) {
    if (!(mask >> lane & 1)) continue;
    std::copy(newest, newest + WARP_SIZE, lanes[static_cast<size_t>(first + lane)].clock.known);
  }
}

inline void Watch::add_unwritten_outputs() {
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (!tensors[t].writable) continue;
    const int64_t element_bytes = tensors[t].element_bytes;
    const auto is_written = [](const OutputByte& byte) { return byte.writing_block != 0; };
    for (int64_t i = 0; i < static_cast<int64_t>(tensors[t].bytes); i += element_bytes) {
      const OutputByte* first = outputs.bytes[t] + i;
      if (std::all_of(first, first + element_bytes, is_written)) continue;
      Finding found;
      found.count = 1;
      found.moment = {0, 0};
      found.thread = -1;
      found.offset = i;
      findings.add({Fault::UNWRITTEN, static_cast<int>(t), -1, -1}, found);
    }
  }
}
