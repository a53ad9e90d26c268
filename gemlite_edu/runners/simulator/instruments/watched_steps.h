// Keeps the steps of one warp as they happen: requests, operations at which lanes meet, barriers.
#pragma once
#include "watched_places.h"

inline unsigned lanes_in_state(const std::vector<Lane>& lanes, int warp, bool (*is_wanted)(State)) {
  unsigned found = 0;
  const size_t first = static_cast<size_t>(warp) * WARP_SIZE;
  for (size_t i = first; i < std::min(first + WARP_SIZE, lanes.size()); ++i) {
    found |= (is_wanted(lanes[i].state) ? 1u : 0u) << (i - first);
  }
  return found;
}

// Where the functions return to that the lane is in, the innermost first, relative to the library.
// frame: of the instrument that the innermost has called; the kernel keeps its frame pointers.
inline std::vector<uintptr_t> Watch::calls_of(int lane, uintptr_t place, const void* frame) const {
  std::vector<uintptr_t> found = {place - library.begin};
  const auto* at = *static_cast<const uintptr_t* const*>(frame);
  while (is_of_lane(lane, at) && library.contains(reinterpret_cast<const void*>(at[1]))) {
    found.push_back(at[1] - library.begin);
    at = reinterpret_cast<const uintptr_t*>(at[0]);
  }
  return found;
}

// What `lane` and others of its warp do; `frame`: of the instrument that it has called at `place`.
inline RecordedStep* Watch::begin_step(const char* what, uintptr_t place, const void* frame, int lane) {
  RecordedStep* step = recording.begin(what, sites.site(place));
  if (!step) return nullptr;
  const std::vector<Lane>& all = block->lanes;
  const int warp = lane / WARP_SIZE;
  step->ended = lanes_in_state(all, warp, [](State state) { return state == State::DONE; });
  step->waiting = lanes_in_state(
      all, warp, [](State state) { return state != State::DONE && state != State::READY; });
  step->phase = epoch - first_epoch_;
  step->calls = calls_of(lane, place, frame);
  const size_t first = static_cast<size_t>(warp) * WARP_SIZE;
  for (size_t i = first; i < std::min(first + WARP_SIZE, all.size()); ++i) {
    for (const Copy& copy : copies_of[i].on_their_way) ++step->copies[copy.batch];
  }
  return step;
}

inline const char* name_of_access(const Event& e) {
  if (is_atomic(e)) return "atomic";
  if (e.manner == Event::ASYNC) return e.writes ? "async_store" : "async_load";
  return e.writes ? "store" : "load";
}

// Null for what lies outside.
inline const unsigned char* Watch::bytes_at(const Event& e) const {
  if (!is_inside(e)) return nullptr;
  if (is_tensor(e.object)) return tensors[static_cast<size_t>(e.object)].data + e.offset;
  if (is_variable(e.object)) {
    return reinterpret_cast<const unsigned char*>(library.begin + variable(e.object).offset) + e.offset;
  }
  const SharedArray& array = sites.arrays[static_cast<size_t>(e.object) - tensors.size()];
  return library.shared + array.offset + e.offset;
}

// One step for each object that the lanes reach, before anything is checked.
inline void Watch::keep_accesses(const int* warp_lanes, int count_of_lanes) {
  unsigned kept = 0;
  for (int i = 0; i < count_of_lanes; ++i) {
    if (kept >> i & 1) continue;
    const Event& event = lanes[static_cast<size_t>(warp_lanes[i])].event;
    RecordedStep* step = begin_step(name_of_access(event), event.place, event.frame, warp_lanes[i]);
    for (int j = i; j < count_of_lanes; ++j) {
      const Event& other = lanes[static_cast<size_t>(warp_lanes[j])].event;
      if (other.object != event.object || other.size != event.size) continue;
      kept |= 1u << j;
      if (step) keep_lane(*step, warp_lanes[j] % WARP_SIZE, other);
    }
  }
}

inline void Watch::keep_lane(RecordedStep& step, int lane, const Event& e) {
  step.object = e.object;
  step.size = e.size;
  step.lanes |= 1u << lane;
  step.at[lane] = e.offset;
  const unsigned char* bytes = bytes_at(e);
  if (bytes && !e.writes && !is_tensor(e.object) && !is_variable(e.object)) keep_writers(step, lane, e);
  const bool fits = e.size <= sizeof step.bytes[lane];
  if (!bytes || !fits || e.manner == Event::ASYNC) return;
  if (e.writes) return recording.expect_store(lane, bytes);
  memcpy(step.bytes[lane], bytes, e.size);
  step.known |= 1u << lane;
}

inline void Watch::keep_writers(RecordedStep& step, int lane, const Event& e) const {
  const auto array = static_cast<size_t>(e.object) - tensors.size();
  const Access& writer = shadow_[sites.arrays[array].offset + static_cast<size_t>(e.offset)].writer;
  const bool is_of_block = writer.epoch >= first_epoch_ && writer.thread != NOBODY;
  if (is_of_block) step.writer[lane] = writer.thread;
}

// A lane ends a batch of its copies, or waits for all but the last `batches_left` of them.
inline void Watch::keep_batch(const char* what, void* place, const void* frame, size_t batches_left) {
  const int lane = block->current % WARP_SIZE;
  if (!is_recorded(block->current / WARP_SIZE)) return;
  const auto from = reinterpret_cast<uintptr_t>(place);
  RecordedStep* step = recording.begin_or_join(
      what, sites.site(from), lane, [&] { return begin_step(what, from, frame, block->current); });
  if (!step) return;
  step->lanes |= 1u << lane;
  step->at[lane] = static_cast<int64_t>(batches_left);
}

// The lanes in `mask` have met, and each has what it takes from there.
inline void Watch::keep_meeting(int first, unsigned mask) {
  if (!is_recorded(first / WARP_SIZE)) return;
  const Lane* met = &block->lanes[static_cast<size_t>(first)];
  const int lowest = __builtin_ctz(mask);
  const WarpOperation operation = met[lowest].operation;
  const Event& event = lanes[static_cast<size_t>(first + lowest)].event;
  RecordedStep* step = begin_step(name_of(operation), event.place, event.frame, first + lowest);
  if (!step) return;
  step->lanes = mask;
  step->waiting &= ~mask;
  step->number = operation == WarpOperation::EXCHANGE ? met[lowest].number : SimNumber::OTHER;
  for (int lane = 0; lane < WARP_SIZE; ++lane) {
    if (!(mask >> lane & 1)) continue;
    if (operation == WarpOperation::MULTIPLY) {
      const auto& product = *static_cast<const SimProduct*>(met[lane].matrices);
      step->size = static_cast<unsigned>(product.m * product.n / WARP_SIZE * sizeof *product.d);
      memcpy(step->bytes[lane], product.d, step->size);
      step->known |= 1u << lane;
      continue;
    }
    step->at[lane] = met[lane].source;
    memcpy(step->bytes[lane], &met[lane].given, 8);
    memcpy(step->bytes[lane] + 8, &met[lane].taken, 8);
    step->known |= 1u << lane;
  }
}

// All lanes of the block that still run wait at a barrier.
inline void Watch::keep_barrier() {
  const std::vector<Lane>& all = block->lanes;
  if (!is_recorded(window.warp)) return;
  const unsigned there =
      lanes_in_state(all, window.warp, [](State state) { return state == State::AT_BARRIER; });
  if (!there) return;
  const size_t lowest = static_cast<size_t>(window.warp * WARP_SIZE + __builtin_ctz(there));
  const Event& event = lanes[lowest].event;
  if (RecordedStep* step = begin_step("barrier", event.place, event.frame, static_cast<int>(lowest))) {
    step->lanes = there;
    step->waiting = 0;
  }
}
