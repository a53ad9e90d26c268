// What the accesses of a warp cost together, and what orders its lanes.
#pragma once
#include "watched_accesses.h"
#include "watched_steps.h"

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
  if (is_recorded(warp)) recording.add_cost(event.object, sample.cost.units);
  if (moment_.block == 0) {
    phase_now().requests[static_cast<size_t>(warp)][2u * !is_global + event.writes]++;
  }
}

inline void Watch::commit(int warp, const int* warp_lanes, int count_of_lanes) {
  ++moment_.turn;
  bool counted[WARP_SIZE] = {};
  const bool is_kept = is_recorded(warp);
  if (is_kept) keep_accesses(warp_lanes, count_of_lanes);
  recording.is_checking = is_kept;
  for (int i = 0; i < count_of_lanes; ++i) {
    check(lanes[static_cast<size_t>(warp_lanes[i])].event, warp_lanes[i]);
  }
  recording.is_checking = false;
  // Lanes at one instruction may still reach several objects: one request to each.
  for (int i = 0; i < count_of_lanes; ++i) {
    if (counted[i]) continue;
    const Event& event = lanes[static_cast<size_t>(warp_lanes[i])].event;
    if (is_variable(event.object)) continue;  // not modelled
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
    if (!tensors[t].is_output) continue;
    const int64_t element_bytes = tensors[t].element_bytes;
    for (int64_t i = 0; i < static_cast<int64_t>(tensors[t].bytes); i += element_bytes) {
      bool is_written = true;
      for (int64_t byte = i; byte < i + element_bytes; ++byte) {
        is_written &= outputs.is_written(t, byte);
      }
      if (is_written) continue;
      Finding found;
      found.count = 1;
      found.moment = {0, 0};
      found.thread = -1;
      found.offset = i;
      findings.add({Fault::UNWRITTEN, static_cast<int>(t), -1, -1}, found);
    }
  }
}

// Variables that the launch leaves with another value than it has found and read: it would find the
// next launch another one. before: their bytes at the beginning.
inline void Watch::add_kept_variables(const std::vector<std::vector<unsigned char>>& before) {
  for (size_t v = 0; v < before.size(); ++v) {
    const auto* now = reinterpret_cast<const unsigned char*>(library.begin + sites.variables[v].offset);
    for (size_t i = 0; i < before[v].size(); ++i) {
      const OutputByte& byte = outputs.bytes[tensors.size() + v][i];
      if (!byte.first_reading_block || now[i] == before[v][i]) continue;
      Finding found;
      found.count = 1;
      found.moment = {static_cast<unsigned>(byte.first_reading_block - 1), 0};
      found.thread = byte.first_reader.thread;
      const auto object = static_cast<int>(tensors.size() + sites.arrays.size() + v);
      findings.add({Fault::KEPT, object, static_cast<int>(byte.first_reader.site), -1}, found);
    }
  }
}
