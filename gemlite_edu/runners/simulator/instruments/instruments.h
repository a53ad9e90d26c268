// The instruments of a run: one Watch for each worker, merged and written to the report at its end.
#pragma once
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>

#include <memory>
#include <mutex>

#include "../runner/address_spaces.h"
#include "../runner/device_heap.h"
#include "../runner/time_limit.h"
#include "lockstep.h"
#include "watched_warps.h"
#include "written_report.h"

struct Instruments {
  Sites sites;
  Outputs outputs;
  std::vector<std::vector<unsigned char>> variables;  // before the launch
  std::mutex merging;
  Ledger ledger;
  Findings findings;
  OwnSites own_sites;
  Recording recording;
};
inline std::unique_ptr<Instruments> instruments;  // null in a plain run
inline thread_local Watch* watch = nullptr;
inline std::atomic<bool> time_is_up{false};

// A fault ends the run in the middle: what this worker has seen goes into the report.
inline void write_unfinished_report() {
  if (!watch) return;
  if (!fatal_place) fatal_place = watch->lanes[static_cast<size_t>(block->current)].event.place;
  write_report(watch->sites, watch->ledger, watch->findings, watch->own_sites, watch->recording);
}

// For one launch, whose tensors are known.
inline void begin_instruments(const Sites& sites) {
  instruments = std::make_unique<Instruments>();
  instruments->sites = sites;
  instruments->sites.library = find_library().begin;
  instruments->own_sites.resize(instruments->sites.returns.size() + 1);
  for (const Tensor& t : tensors) {
    instruments->outputs.bytes.push_back(t.is_output ? zeroed<OutputByte>(t.bytes) : nullptr);
  }
  for (const Variable& v : instruments->sites.variables) {
    const auto* begin = reinterpret_cast<const unsigned char*>(instruments->sites.library + v.offset);
    instruments->variables.emplace_back(begin, begin + v.bytes);
    instruments->outputs.bytes.push_back(zeroed<OutputByte>(v.bytes));
  }
  const size_t outputs = instruments->outputs.bytes.size();
  instruments->outputs.atomics = std::vector<std::atomic<AtomicByte*>>(outputs);
  is_constant = [](const void* address) {
    const Sites& sites = instruments->sites;
    const uintptr_t at = reinterpret_cast<uintptr_t>(address) - sites.library;
    return at - sites.constants.offset < sites.constants.bytes;
  };
  before_last_line = write_unfinished_report;
  when_in_step = [](int first_lane, unsigned mask) { watch->join_clocks(first_lane, mask); };
  if (window.count) when_met = [](int first_lane, unsigned mask) { watch->keep_meeting(first_lane, mask); };
  when_time_is_up = [] { time_is_up = true; };
}

inline void merge_into_report(const Watch& finished) {
  const std::lock_guard<std::mutex> lock(instruments->merging);
  instruments->ledger.merge(finished.ledger);
  instruments->findings.merge(finished.findings);
  if (finished.recording.total) instruments->recording = finished.recording;
  OwnSites& own = instruments->own_sites;
  for (size_t site = 0; site < own.size(); ++site) own[site] |= finished.own_sites[site];
}

inline void write_merged_report() {
  Watch at_the_end(instruments->sites, instruments->outputs, 0);
  at_the_end.add_unwritten_outputs();
  at_the_end.add_kept_variables(instruments->variables);
  instruments->findings.merge(at_the_end.findings);
  write_report(instruments->sites, instruments->ledger, instruments->findings,
               instruments->own_sites, instruments->recording);
}

// The lanes that still run tell where: the loop that does not end begins at the smallest place.
// Of several blocks that do not end, the first one reports; if it has ended since, any other.
inline void look_for_the_loop(uintptr_t place) {
  constexpr int ENOUGH = 10000;
  static std::atomic<unsigned> first_block{~0u};
  static thread_local int seen = 0;
  static thread_local unsigned thread = 0;
  const unsigned own = sim_here.block_index.x + sim_here.block_index.y * launch.grid_x;
  for (unsigned known = first_block; own < known && !first_block.compare_exchange_weak(known, own);) {}
  if (!fatal_place || place < fatal_place) {
    fatal_place = place;
    thread = static_cast<unsigned>(block->current);
  }
  ++seen;
  const bool is_first = own == first_block && seen >= ENOUGH;
  if (!is_first && seen < 10 * ENOUGH) return;
  report("endless %u %u %u", sim_here.block_index.x, sim_here.block_index.y, thread);
}

// Like what calls it, part of the function that the kernel calls: a processor foresees no return
// that comes after a switch, and so there should be one.
[[gnu::always_inline]] inline void stop_before(Event::Kind kind, void* place) {
  if (!watch) return;
  Event& event = watch->lanes[static_cast<size_t>(block->current)].event;
  event.kind = kind;
  event.place = reinterpret_cast<uintptr_t>(place);
  event.frame = __builtin_frame_address(0);
  event.rank = watch->sites.rank_of(event.place);
  if (kind == Event::MEETING) watch->stop_after_overrun(block->current);
  if (time_is_up) look_for_the_loop(event.place);
  if (kind != Event::MEETING) yield_to_scheduler();
}

// A number for the line at which the current lane has stopped; 0 in a plain run.
inline int line_here() {
  if (!watch) return 0;
  return watch->sites.line_of(watch->lanes[static_cast<size_t>(block->current)].event.place);
}

inline bool is_here(const void* address) {
  const auto* byte = static_cast<const unsigned char*>(address);
  const auto* here = reinterpret_cast<const unsigned char*>(&sim_here);
  return static_cast<size_t>(byte - here) < sizeof sim_here;
}

// Ends the run with a word for where the address leads, if that is known.
inline void report_known_place(const void* address) {
  const uint3& at = sim_here.block_index;
  if (is_local(address)) report("foreign %u %u %d", at.x, at.y, block->current);
  Dl_info info;
  const bool is_named = dladdr(address, &info) && info.dli_sname;
  if (is_named) report("host %s %u %u %d", info.dli_sname, at.x, at.y, block->current);
}

// Of an access to the lane's own stack. The compiler makes some of 16 bytes out of two of 8.
inline void check_alignment(const void* address, size_t size, void* place) {
  if (reinterpret_cast<uintptr_t>(address) % std::min<size_t>(size, 8) == 0) return;
  fatal_place = reinterpret_cast<uintptr_t>(place);
  report("unaligned %zu %u %u %d", size, sim_here.block_index.x, sim_here.block_index.y, block->current);
}

[[gnu::always_inline]] inline void watch_access(const void* address, size_t size, bool writes,
                                                void* place, Event::Manner manner = Event::TYPED) {
  if (!watch || !size || is_here(address)) return;
  if (is_own(address)) {
    watch->note_own(reinterpret_cast<uintptr_t>(place));
    if (manner == Event::TYPED) check_alignment(address, size, place);
    return;
  }
  Event& event = watch->lanes[static_cast<size_t>(block->current)].event;
  if (!watch->locate(reinterpret_cast<uintptr_t>(address), event)) {
    if (watch->is_of_compiler(address) || device_heap.contains(address, size)) return;
    fatal_place = reinterpret_cast<uintptr_t>(place);
    report_known_place(address);
    report("signal %d %p %u %u %d", SIGSEGV, address, sim_here.block_index.x,
           sim_here.block_index.y, block->current);
  }
  event.size = static_cast<unsigned>(size);
  event.writes = writes;
  event.manner = manner;
  if (watch->is_inside(event)) watch->stop_after_overrun(block->current);
  watch->lanes[static_cast<size_t>(block->current)].overrun = {};
  stop_before(Event::ACCESS, place);
}

// What -fsanitize=thread and -fsanitize-coverage=trace-pc call.
#define WATCH(bytes)                                                                   \
  extern "C" void __tsan_read##bytes(void* address) {                                  \
    watch_access(address, bytes, false, __builtin_return_address(0));                  \
  }                                                                                    \
  extern "C" void __tsan_write##bytes(void* address) {                                 \
    watch_access(address, bytes, true, __builtin_return_address(0));                   \
  }
WATCH(1)
WATCH(2)
WATCH(4)
WATCH(8)
WATCH(16)
#undef WATCH

extern "C" void __tsan_read_range(void* address, size_t size) {
  watch_access(address, size, false, __builtin_return_address(0), Event::BYTES);
}
extern "C" void __tsan_write_range(void* address, size_t size) {
  watch_access(address, size, true, __builtin_return_address(0), Event::BYTES);
}
// instrument.py lets a kernel call these in place of the C library's.
extern "C" void* sim_memmove(void* to, const void* from, size_t size) {
  watch_access(from, size, false, __builtin_return_address(0), Event::BYTES);
  watch_access(to, size, true, __builtin_return_address(0), Event::BYTES);
  return memmove(to, from, size);
}
extern "C" void* sim_memset(void* to, int value, size_t size) {
  watch_access(to, size, true, __builtin_return_address(0), Event::BYTES);
  return memset(to, value, size);
}
extern "C" void __sanitizer_cov_trace_pc() {
  stop_before(Event::BASIC_BLOCK, __builtin_return_address(0));
}
extern "C" void __tsan_init() {}
// Whether a static variable has been initialised: variables.py refuses what would take effect.
extern "C" char __tsan_atomic8_load(const void*, int) { return 1; }
