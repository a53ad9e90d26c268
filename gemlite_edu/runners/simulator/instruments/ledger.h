// Counts per site and object, added up while the kernel runs: no request is kept, but for two.
#pragma once
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "request.h"

struct Key {
  int site, object;
  bool writes;
  unsigned size;
  bool operator<(const Key& other) const {
    return std::tie(site, object, writes, size) <
           std::tie(other.site, other.object, other.writes, other.size);
  }
};

// When something happened, in an order that does not depend on which worker ran which block.
struct Moment {
  unsigned block = ~0u;
  uint64_t turn = ~uint64_t(0);
  bool operator<(const Moment& other) const {
    return std::tie(block, turn) < std::tie(other.block, other.turn);
  }
};

struct Sample {
  Moment moment;
  int warp = 0;
  Request request;
  Cost cost;
};

// Enough of a request to recognize the same request, or one that continues where it ended.
struct Trace {
  unsigned block = 0;
  int warp = -1, line = -1, object = -1, lanes = 0;
  unsigned size = 0;
  bool writes = false;
  int64_t first = 0, last = 0;

  bool is_followed_by(const Trace& next, int64_t step) const {
    return block == next.block && warp == next.warp && line == next.line &&
           object == next.object && lanes == next.lanes && size == next.size &&
           writes == next.writes && first + step == next.first && last + step == next.last;
  }
};

struct Row {
  uint64_t requests = 0, lanes = 0, asked = 0, units = 0, least = 0;
  uint64_t repeated = 0;        // requests for just what this warp asked for here before
  uint64_t mergeable = 0;       // requests while the other side of a branch wants the like
  uint64_t adjacent = 0;        // requests that go on where this warp's last one here ended
  uint64_t leaving = 0;         // requests before which some lanes have left the loop, others not
  Sample first, costliest;
  Trace latest;

  void add(const Sample& s) {
    ++requests;
    lanes += static_cast<uint64_t>(s.request.lanes);
    asked += s.cost.asked;
    units += s.cost.units;
    least += s.cost.least;
    keep(s);
  }

  void keep(const Sample& s) {
    if (s.moment < first.moment) first = s;
    if (s.cost.units > costliest.cost.units ||
        (s.cost.units == costliest.cost.units && s.moment < costliest.moment)) {
      costliest = s;
    }
  }

  void merge(const Row& other) {
    requests += other.requests;
    lanes += other.lanes;
    asked += other.asked;
    units += other.units;
    least += other.least;
    repeated += other.repeated;
    mergeable += other.mergeable;
    adjacent += other.adjacent;
    leaving += other.leaving;
    keep(other.first);
    keep(other.costliest);
  }
};

// Requests of block 0 from barrier to barrier: global loads and stores, shared loads and stores.
struct Phase {
  int end = -1;  // site of the barrier that ends it
  std::array<std::array<unsigned, 4>, WARP_SIZE> requests = {};
};
constexpr size_t MAX_PHASES = 64;  // what comes later is added to the last

struct Ledger {
  std::map<Key, Row> rows;
  std::vector<Phase> phases;

  void merge(const Ledger& other) {
    for (const auto& [key, row] : other.rows) rows[key].merge(row);
    if (phases.empty()) phases = other.phases;
  }
};
