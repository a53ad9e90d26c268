// Runs a block as the hardware does: the lanes of a warp stay together.
//
// Every lane stops before each load, store and basic block. Of the lanes of a warp that can go on,
// those at the earliest program point go first (program_order.py), so that the lanes of a branch or
// a loop meet again behind it. The lanes that stop before the same access make one request.
//
// With `seed_of_order` the lanes of the whole block go one by one instead, in an order drawn by lot.
#pragma once
#include <vector>

#include "../runner/block_barrier.h"
#include "../runner/fibers.h"
#include "../runner/warp_operations.h"
#include "mixed_order.h"
#include "watch.h"

class Lockstep {
 public:
  Lockstep(Watch& watch, std::vector<Lane>& lanes, unsigned block_number)
      : watch_(watch), lanes_(lanes), dice_(seed_of_order + block_number) {}

  void run_block() {
    for (Lane& lane : lanes_) lane.state = State::READY;
    for (;;) {
      const bool progress = seed_of_order ? run_mixed() : run_warps();
      size_t done = 0, at_barrier = 0;
      for (const Lane& lane : lanes_) {
        done += lane.state == State::DONE;
        at_barrier += lane.state == State::AT_BARRIER;
      }
      if (done == lanes_.size()) return;
      if (done + at_barrier == lanes_.size()) pass_barrier();
      else if (!progress && !tell_active_masks(lanes_)) stop_stuck();
    }
  }

 private:
  Watch& watch_;
  std::vector<Lane>& lanes_;
  Dice dice_;

  Event& event(int lane) { return watch_.lanes[static_cast<size_t>(lane)].event; }
  bool is_ready(int lane) const { return lanes_[static_cast<size_t>(lane)].state == State::READY; }

  void go_on(int lane, uint64_t turn) {
    WatchedLane& watched = watch_.lanes[static_cast<size_t>(lane)];
    watched.turn_before = watched.turn;
    watched.place_before = watched.event.place;
    watched.turn = turn;
    resume(lane);
    if (lanes_[static_cast<size_t>(lane)].state == State::DONE) watch_.stop_after_overrun(lane);
  }

  bool run_warps() {
    bool progress = false;
    for (size_t first = 0; first < lanes_.size(); first += WARP_SIZE) {
      progress |= run_warp(static_cast<int>(first));
    }
    return progress;
  }

  // Until each lane of the block waits or is done. Nothing is counted or checked.
  bool run_mixed() {
    std::vector<int> ready;
    for (bool progress = false;; progress = true) {
      ready.clear();
      for (size_t lane = 0; lane < lanes_.size(); ++lane) {
        if (lanes_[lane].state == State::READY) ready.push_back(static_cast<int>(lane));
      }
      if (ready.empty()) return progress;
      run_a_turn(ready[dice_.below(ready.size())]);
    }
  }

  // Lets other lanes and other blocks come between two atomic operations above all.
  void run_a_turn(int lane) {
    for (bool ends = false; !ends && is_ready(lane);) {
      const Event& next = event(lane);
      const bool is_atomic = next.kind == Event::ACCESS && next.manner >= Event::ATOMIC;
      go_on(lane, watch_.next_turn());
      ends = dice_.below(is_atomic ? ATOMICS_PER_TURN : EVENTS_PER_TURN) == 0;
      if (ends && is_atomic) std::this_thread::yield();
    }
  }

  // Until each lane of the warp waits or is done; false if none could go on.
  bool run_warp(int first) {
    const int end = std::min(first + WARP_SIZE, static_cast<int>(lanes_.size()));
    const bool is_recorded = watch_.is_recorded(first / WARP_SIZE);
    bool progress = false;
    for (;;) {
      int group[WARP_SIZE], count = 0;
      unsigned earliest = ~0u;
      for (int lane = first; lane < end; ++lane) {
        const unsigned rank = event(lane).rank;
        if (!is_ready(lane) || rank > earliest) continue;
        if (rank < earliest) count = 0;
        earliest = rank;
        group[count++] = lane;
      }
      if (!count) return progress;
      progress = true;
      if (event(group[0]).kind == Event::ACCESS) {
        count = join_other_side(first, end, group, count);
        watch_.commit(first / WARP_SIZE, group, count);
      }
      const uint64_t turn = watch_.next_turn();
      for (int i = 0; i < count; ++i) {
        go_on(group[i], turn);
        if (is_recorded) watch_.recording.keep_stored(group[i] % WARP_SIZE);
      }
    }
  }

  // `p ? a[i] : a[j]` is one load from a chosen address to nvcc, two loads in two branches here.
  // The lanes of the other branch are let into it; if they stop at the like on the same line, the
  // request is theirs too. On another line it is only noted that a compiler may join the two.
  int join_other_side(int first, int end, int* group, int count) {
    const WatchedLane& here = watch_.lanes[static_cast<size_t>(group[0])];
    const Event mine = here.event;
    const uint64_t branch = here.turn_before;
    bool joined = false;
    for (int lane = first; lane < end; ++lane) {
      const WatchedLane& other = watch_.lanes[static_cast<size_t>(lane)];
      const bool is_other_side = is_ready(lane) && other.turn == branch &&
                                 other.event.kind == Event::BASIC_BLOCK &&
                                 watch_.sites.leads_to_access(other.event.place) &&
                                 !watch_.sites.runs_into(here.place_before, other.event.place) &&
                                 !watch_.sites.runs_into(other.event.place, here.place_before);
      if (!is_other_side) continue;
      go_on(lane, here.turn);
      const Event& theirs = other.event;
      if (!is_ready(lane) || theirs.kind != Event::ACCESS || theirs.object != mine.object ||
          theirs.size != mine.size || theirs.writes != mine.writes) {
        continue;
      }
      if (watch_.sites.line_of(theirs.place) != watch_.sites.line_of(mine.place)) {
        watch_.add_mergeable(mine);
        watch_.add_mergeable(theirs);
        continue;
      }
      event(lane).place = mine.place;
      group[count++] = lane;
      joined = true;
    }
    if (joined) std::sort(group, group + count);
    return count;
  }

  [[noreturn]] void stop_stuck() {
    fatal_place = event(find_waiting(lanes_)).place;
    report_stuck(lanes_);
  }

  void pass_barrier() {
    watch_.keep_barrier();
    int earliest = -1, checked_warp = -1;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].state != State::AT_BARRIER) continue;
      const int lane = static_cast<int>(i);
      if (earliest < 0) earliest = lane;
      check_same_barrier(earliest, lane);
      if (lane / WARP_SIZE != checked_warp) check_nobody_left(lane);
      checked_warp = lane / WARP_SIZE;
    }
    let_pass_barrier(lanes_);
    watch_.pass_barrier(watch_.sites.site(event(earliest).place));
  }

  // Whole warps may end before a barrier of the others; part of a warp must not.
  void check_nobody_left(int waiting) {
    const size_t first = static_cast<size_t>(waiting) / WARP_SIZE * WARP_SIZE;
    unsigned absent = 0;
    for (size_t i = first; i < std::min(first + WARP_SIZE, lanes_.size()); ++i) {
      absent |= (lanes_[i].state == State::DONE ? 1u : 0u) << (i - first);
    }
    if (absent) watch_.add_finding(Fault::LEFT, event(waiting), waiting, nullptr, false, absent);
  }

  void check_same_barrier(int earliest, int lane) {
    const Sites& sites = watch_.sites;
    if (sites.line_of(event(lane).place) == sites.line_of(event(earliest).place)) return;
    Access other = {};
    other.thread = static_cast<uint16_t>(earliest);
    other.site = static_cast<uint32_t>(sites.site(event(earliest).place));
    watch_.add_finding(Fault::BARRIERS, event(lane), lane, &other);
  }
};
