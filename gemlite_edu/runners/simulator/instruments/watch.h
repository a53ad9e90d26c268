// Watches one worker's blocks: which objects the lanes reach, at what cost, and whether they may.
#pragma once
#include <inttypes.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "../runner/copies.h"
#include "../runner/faults.h"
#include "../runner/lanes.h"
#include "../runner/shared_memory.h"
#include "../runner/tensors.h"
#include "findings.h"
#include "ledger.h"
#include "pending.h"
#include "recording.h"
#include "shadow.h"
#include "sites.h"

// The next thing that a stopped lane will do.
struct Event {
  enum Kind { START, BASIC_BLOCK, ACCESS, MEETING } kind = START;
  uintptr_t place = 0;  // return address of the call that told us
  const void* frame = nullptr;  // of that call
  unsigned rank = 0;    // of that call in the order of the program
  int object = -1;      // a tensor's number, or behind them a shared array's
  int64_t offset = 0;   // in the object
  unsigned size = 0;
  bool writes = false;
  // BYTES: copied with no type that says how they are aligned. ASYNC: by an asynchronous copy,
  // whose addresses were checked, and which no compiler joins with another. ATOMIC: reads, writes,
  // and lets no other thread between; ATOMIC_WRITE: does not read.
  enum Manner { TYPED, BYTES, ASYNC, ATOMIC, ATOMIC_WRITE } manner = TYPED;
};

// An index beyond the declared array, where the text is.
struct Overrun {
  void* place = nullptr;
  int64_t index = 0;
  const char* array = nullptr;  // its type
};

struct WatchedLane {
  Event event;
  uint64_t turn = 0, turn_before = 0;  // of its warp: when it came to this event, and to the last
  uintptr_t place_before = 0;          // of the last event
  LaneClock clock;
  Overrun overrun;  // until the lane's next access
};

// Where the lane stood that ended the run.
inline thread_local uintptr_t fatal_place = 0;

// Of each site, and of unknown ones: whether a lane reached its own stack there, by a pointer.
using OwnSites = std::vector<unsigned char>;

constexpr int64_t BYTES_OF_LINE = 64;
struct Outputs {
  std::vector<OutputByte*> bytes;  // of each tensor, null for inputs; behind them of each variable
  std::vector<std::atomic<AtomicByte*>> atomics;  // likewise; null until there is an operation
  std::array<std::mutex, 64> locks;  // of lines of bytes, by their number

  bool is_written(size_t output, int64_t byte) const {
    const AtomicByte* operations = atomics[output];
    return bytes[output][byte].writing_block || (operations && operations[byte].block);
  }
  AtomicByte* atomics_for(size_t output, size_t bytes_there) {
    static std::mutex creating;
    const std::lock_guard<std::mutex> lock(creating);
    std::atomic<AtomicByte*>& found = atomics[output];
    if (!found) found = zeroed<AtomicByte>(bytes_there);
    return found;
  }
  std::mutex& lock_of(int64_t byte) { return locks[static_cast<size_t>(byte / BYTES_OF_LINE) % locks.size()]; }
};

class Watch {
 public:
  Sites& sites;
  Outputs& outputs;
  const Library library = find_library();
  Ledger ledger;
  Findings findings;
  Recording recording;
  std::vector<WatchedLane> lanes;
  OwnSites own_sites;
  uint32_t epoch = 0;

  Watch(Sites& s, Outputs& o, size_t threads) : sites(s), outputs(o), lanes(threads), own_sites(s.returns.size() + 1) {}

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

  // All lanes that access shared memory have met: what comes now is ordered behind what was before.
  void pass_meeting() { ++epoch; }

  void note_own(uintptr_t place) { own_sites[static_cast<size_t>(sites.site(place))] = true; }

  uint64_t next_turn() { return ++moment_.turn; }

  // Finds the object that holds `address`; false for memory that is not watched.
  bool locate(uintptr_t address, Event& event) const;
  bool is_inside(const Event& event) const;

  // True for constants and unnamed data in the kernel's library, and for the compiler's data beside shared arrays.
  bool is_of_compiler(const void* address) const {
    const auto* byte = static_cast<const unsigned char*>(address);
    return library.contains(address) ||
           static_cast<size_t>(byte - library.shared) < library.shared_bytes;
  }

  // The lanes in `warp_lanes` make one request, each as its event says.
  void commit(int warp, const int* warp_lanes, int count);

  bool is_recorded(int warp) const { return Recording::is_of(moment_.block, warp); }
  // For the recording, if it is of this warp.
  void keep_meeting(int first, unsigned mask);
  void keep_batch(const char* what, void* place, const void* frame, size_t batches_left);
  void keep_barrier();

  // Lanes of a warp have passed a __syncwarp together.
  void join_clocks(int first, unsigned mask);

  // A copy is on its way: its destination belongs to it. It is written when its lane has waited.
  void begin_copy(const Copy& copy);
  void end_copy(const Copy& copy);
  void bulk_copied(const void* to, size_t bytes);

  // Ends the run if the lane has gone beyond an array and no access of shared memory says so.
  void stop_after_overrun(int lane) const;

  void add_unwritten_outputs();
  void add_kept_variables(const std::vector<std::vector<unsigned char>>& before);
  void add_mergeable(const Event& event) { row_of(event).mergeable++; }
  // more: for a race, the other thread's block if it differs; for Fault::LEFT, the lanes; for
  // Fault::PENDING, the number of batches closed after the copy's.
  void add_finding(Fault fault, const Event& event, int thread, const Access* other = nullptr,
                   bool other_writes = false, int64_t more = -1);

 private:
  Moment moment_;
  uint32_t first_epoch_ = 0;
  size_t phase_ = 0;
  SharedByte* shadow_ = nullptr;
  AtomicByte* shared_atomics_ = nullptr;  // null until there is an atomic operation
  Pending pending_;
  Trace latest_;

  bool locate_shared(size_t at, Event& event) const;
  bool locate_variable(size_t at, Event& event) const;
  Phase& phase_now() {
    if (ledger.phases.size() <= phase_) ledger.phases.resize(phase_ + 1);
    return ledger.phases[phase_];
  }
  Row& row_of(const Event& e) {
    return ledger.rows[{sites.site(e.place), e.object, e.writes, e.size}];
  }
  bool is_tensor(int object) const { return object < static_cast<int>(tensors.size()); }
  bool is_variable(int object) const {
    return object >= static_cast<int>(tensors.size() + sites.arrays.size());
  }
  const Variable& variable(int object) const {
    return sites.variables[static_cast<size_t>(object) - tensors.size() - sites.arrays.size()];
  }
  // The place in `outputs` of a tensor or variable.
  size_t output_of(int object) const {
    return static_cast<size_t>(object) - (is_tensor(object) ? 0 : sites.arrays.size());
  }
  Access access_of(uintptr_t place, int thread) const {
    return {epoch, lanes[static_cast<size_t>(thread)].clock.own, static_cast<uint16_t>(thread),
            static_cast<uint32_t>(sites.site(place))};
  }
  size_t offset_of(const Copy& copy) const { return static_cast<size_t>(copy.to - library.shared); }
  size_t bytes_of(int object) const;
  int64_t first_outside(const Event& event) const;
  void check(const Event& event, int thread);
  void stop_if_fatal(const Event& event, int thread) const;
  void check_part_inside(Event event, int thread);
  void check_shared(const Event& event, int thread);
  bool add_pending(const Event& event, int thread, size_t at);
  void check_output(const Event& event, int thread);
  bool is_written_atomically(const AtomicByte& byte) const;
  void check_shared_atomic(const Event& event, int thread, size_t at);
  const Access* atomic_in_race(size_t at, unsigned size, int thread) const;
  void check_output_atomic(const Event& event, int thread);
  bool add_race_with_atomic(const Event& event, int thread, int64_t at, uint64_t block,
                            const LaneClock& clock);
  bool add_output_race(const Event& event, int thread, const OutputByte& byte, uint64_t block,
                       const LaneClock& clock);
  std::vector<uintptr_t> calls_of(int lane, uintptr_t place, const void* frame) const;
  RecordedStep* begin_step(const char* what, uintptr_t place, const void* frame, int lane);
  void keep_writers(RecordedStep& step, int lane, const Event& event) const;
  const unsigned char* bytes_at(const Event& event) const;
  void keep_accesses(const int* warp_lanes, int count);
  void keep_lane(RecordedStep& step, int lane, const Event& event);
  bool has_lane_behind_loop(int warp, uintptr_t place) const;
  void count(int warp, const Event& event, const Request& request);
};
