// __syncthreads: a lane that reaches it waits until every lane of the block is there, or has ended.
#pragma once
#include <vector>

#include "faults.h"
#include "fibers.h"
#include "spoiled.h"

inline void wait_at_block_barrier(int predicate = 0) {
  Lane& self = block->lanes[static_cast<size_t>(block->current)];
  self.given = static_cast<uint64_t>(predicate);
  self.state = State::AT_BARRIER;
  yield_to_scheduler();
}

// All lanes that still run have come.
inline void let_pass_barrier(std::vector<Lane>& lanes) {
  spoil_shared_arrays();
  block->predicates = 0;
  for (Lane& lane : lanes) {
    if (lane.state != State::AT_BARRIER) continue;
    block->predicates += static_cast<int>(lane.given);
    lane.state = State::READY;
  }
}

// A barrier of `threads` lanes: a lane that reaches it waits until so many are there. True for the last.
inline bool meet(int threads) {
  if (++block->at_meeting < threads) {
    block->lanes[static_cast<size_t>(block->current)].state = State::AT_MEETING;
    yield_to_scheduler();
    return false;
  }
  block->at_meeting = 0;
  for (Lane& lane : block->lanes) {
    if (lane.state == State::AT_MEETING) lane.state = State::READY;
  }
  return true;
}

// A switch to a lane waits mostly for its stack to come into the cache.
constexpr size_t LANES_AHEAD = 4, LINES_OF_FRAMES = 3;
inline void prefetch_stack(const Lane& lane) {
  const auto* top = static_cast<const unsigned char*>(lane.stack);
  for (size_t i = 0; i < LINES_OF_FRAMES; ++i) __builtin_prefetch(top + i * LINE);
}

// Run the lanes in order, each up to its next barrier, until all have ended.
inline void run_block(std::vector<Lane>& lanes) {
  for (Lane& lane : lanes) lane.state = State::READY;
  for (;;) {
    bool progress = false;
    size_t done = 0, at_barrier = 0;
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (i + LANES_AHEAD < lanes.size()) prefetch_stack(lanes[i + LANES_AHEAD]);
      if (lanes[i].state == State::READY) {
        resume(static_cast<int>(i));
        progress = true;
      }
    }
    for (const Lane& lane : lanes) {
      done += lane.state == State::DONE;
      at_barrier += lane.state == State::AT_BARRIER;
    }
    if (done == lanes.size()) return;
    if (done + at_barrier == lanes.size()) {
      let_pass_barrier(lanes);
    } else if (!progress && !tell_active_masks(lanes)) {
      report_stuck(lanes);
    }
  }
}
