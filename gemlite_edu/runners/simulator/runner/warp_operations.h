// The operations at which lanes of a warp or a block meet (shuffles, votes, barriers, matrix
// operations), and the search for lanes that never arrive.
#pragma once
#include <algorithm>

#include "lanes.h"
#include "matrix_operations.h"
#include "shared_barriers.h"
#include "spoiled.h"

// Called when all lanes in the mask have come to a __syncwarp; the instruments' interest.
inline void (*when_in_step)(int first_lane, unsigned mask) = nullptr;
// Likewise at any operation, when each lane has its value; null unless a recording asks for it.
inline void (*when_met)(int first_lane, unsigned mask) = nullptr;

// All lanes in the mask have come: give each its value and let them go.
inline void complete_warp_operation(Lane* warp, unsigned mask) {
  unsigned ballot = 0;
  bool orders_memory = false;
  for (int i = 0; i < WARP_SIZE; ++i) {
    if (mask >> i & 1) ballot |= (warp[i].given & 1 ? 1u : 0u) << i;
  }
  for (int i = 0; i < WARP_SIZE; ++i) {
    if (!(mask >> i & 1)) continue;
    Lane& lane = warp[i];
    lane.taken = mask >> lane.source & 1 ? spoiled_shuffle(warp[lane.source].given) : ~uint64_t(0);
    lane.ballot = lane.operation == WarpOperation::GATHER ? mask : ballot;
    for (int j = 0; lane.gathered && j < WARP_SIZE; ++j) lane.gathered[j] = warp[j].given;
    lane.gathered = nullptr;
    lane.state = State::READY;
    orders_memory |= lane.operation == WarpOperation::SYNC;
  }
  const int first = static_cast<int>(warp - &block->lanes[0]);
  if (orders_memory && when_in_step) when_in_step(first, mask);
  if (when_met) when_met(first, mask);
}

inline bool is_at_the_same_operation(const Lane& a, const Lane& b) {
  return a.state == State::AT_WARP_OPERATION && b.state == State::AT_WARP_OPERATION &&
         a.mask == b.mask && a.operation == b.operation && a.line == b.line;
}

inline bool is_done_without_ended_lanes(WarpOperation operation) {
  return operation == WarpOperation::VOTE || operation == WarpOperation::SYNC ||
         operation == WarpOperation::GATHER;
}

// Lanes that have ended need not come to a vote or a __syncwarp (CUDA C++ Programming Guide, "Warp
// Vote Functions": all non-exited threads named in mask must).
inline void complete_if_all_came(const Lane& waiting, int first) {
  std::vector<Lane>& lanes = block->lanes;
  unsigned there = 0;
  for (int i = WARP_SIZE - 1; i >= 0; --i) {  // the last lane is mostly the one that is not there
    const size_t index = static_cast<size_t>(first + i);
    if (!(waiting.mask >> i & 1) || index >= lanes.size()) continue;
    const Lane& lane = lanes[index];
    if (lane.state == State::DONE && is_done_without_ended_lanes(waiting.operation)) continue;
    if (!is_at_the_same_operation(lane, waiting)) return;
    there |= 1u << i;
  }
  Lane* warp = &lanes[static_cast<size_t>(first)];
  if (is_of_whole_warp(waiting.operation)) perform_for_warp(warp, first);
  complete_warp_operation(warp, there);
}

inline void complete_without(int done_lane) {
  const int first = done_lane / WARP_SIZE * WARP_SIZE;
  for (int i = first; i < first + WARP_SIZE && i < static_cast<int>(block->lanes.size()); ++i) {
    const Lane& lane = block->lanes[static_cast<size_t>(i)];
    if (lane.state == State::AT_WARP_OPERATION) complete_if_all_came(lane, first);
  }
}

inline void meet_warp(WarpOperation operation, unsigned mask, uint64_t value, int source) {
  Block& b = *block;
  Lane& self = b.lanes[b.current];
  const int first = b.current / WARP_SIZE * WARP_SIZE, lane_id = b.current % WARP_SIZE;
  if (!(mask >> lane_id & 1)) {
    report("notinmask %x %d %u %u %d", mask, lane_id, sim_here.block_index.x, sim_here.block_index.y,
           b.current);
  }
  self.mask = mask;
  self.operation = operation;
  self.given = value;
  self.source = source & (WARP_SIZE - 1);
  self.state = State::AT_WARP_OPERATION;
  complete_if_all_came(self, first);
  yield_to_scheduler();
}

// The caller has said where the values go.
inline unsigned gather(unsigned mask, uint64_t value, uint64_t* values) {
  block->lanes[static_cast<size_t>(block->current)].gathered = values;
  meet_warp(WarpOperation::GATHER, mask, value, 0);
  return block->lanes[static_cast<size_t>(block->current)].ballot;
}

// Which lanes are active together is not defined: here, those that have come to this call when no
// lane can go on.
inline unsigned wait_for_active_mask(const void* place) {
  Lane& self = block->lanes[static_cast<size_t>(block->current)];
  self.place = place;
  self.state = State::AT_ACTIVE_MASK;
  yield_to_scheduler();
  return block->lanes[static_cast<size_t>(block->current)].ballot;
}

// Called when no lane can go on: lanes of a warp that asked at the same place learn of each other.
inline bool tell_active_masks(std::vector<Lane>& lanes) {
  bool told = false;
  for (size_t first = 0; first < lanes.size(); first += WARP_SIZE) {
    const void* place = nullptr;
    unsigned active = 0;
    const size_t end = std::min(first + WARP_SIZE, lanes.size());
    for (size_t i = first; i < end; ++i) {
      if (lanes[i].state != State::AT_ACTIVE_MASK) continue;
      if (!place) place = lanes[i].place;
      active |= (lanes[i].place == place ? 1u : 0u) << (i - first);
    }
    for (size_t i = first; i < end; ++i) {
      if (!(active >> (i - first) & 1)) continue;
      lanes[i].ballot = active;
      lanes[i].state = State::READY;
      told = true;
    }
  }
  return told;
}

// CUDA asks it of the whole warp at one place: lanes of another line of the text do not meet.
inline void meet_at_matrix(WarpOperation operation, const void* own, int line) {
  Lane& self = block->lanes[static_cast<size_t>(block->current)];
  self.operation = operation;
  const int first = block->current / WARP_SIZE * WARP_SIZE;
  const size_t there = std::min<size_t>(WARP_SIZE, block->lanes.size() - static_cast<size_t>(first));
  if (there < WARP_SIZE) report_matrix("lanes", self, there, block->current);
  self.matrices = own;
  self.line = line;
  meet_warp(operation, ~0u, 0, 0);
  self.line = 0;
}

// The mask of the lanes that should meet lane `waiting` at its warp operation but are not there.
inline unsigned find_missing(const std::vector<Lane>& lanes, int waiting) {
  const Lane& lane = lanes[waiting];
  const size_t first = static_cast<size_t>(waiting) / WARP_SIZE * WARP_SIZE;
  unsigned missing = 0;
  for (size_t i = first; i < std::min(first + WARP_SIZE, lanes.size()); ++i) {
    const bool is_there = is_at_the_same_operation(lanes[i], lane);
    const bool must_come =
        lanes[i].state != State::DONE || !is_done_without_ended_lanes(lane.operation);
    const bool is_named = lane.mask >> (i - first) & 1;
    missing |= (is_named && must_come && !is_there ? 1u : 0u) << (i - first);
  }
  return missing;
}

// The first lane that waits at a warp operation; when no lane can continue, there is one.
inline int find_waiting(const std::vector<Lane>& lanes) {
  int waiting = 0;
  while (lanes[waiting].state != State::AT_WARP_OPERATION) ++waiting;
  return waiting;
}

[[noreturn]] inline void report_stuck(const std::vector<Lane>& lanes) {
  report_if_at_phase(lanes);
  const int waiting = find_waiting(lanes);
  const unsigned missing = find_missing(lanes, waiting);
  bool all_ended = true, at_barrier = false;
  for (int i = 0; i < WARP_SIZE; ++i) {
    if (!(missing >> i & 1)) continue;
    const State state = lanes[static_cast<size_t>(waiting / WARP_SIZE * WARP_SIZE + i)].state;
    all_ended &= state == State::DONE;
    at_barrier |= state == State::AT_BARRIER;
  }
  const char* why = all_ended ? "ended" : at_barrier ? "barrier" : "elsewhere";
  const char* operation = name_of(lanes[static_cast<size_t>(waiting)].operation);
  report("stuck %s %s %x %u %u %d", operation, why, missing, sim_here.block_index.x,
         sim_here.block_index.y, waiting);
}
