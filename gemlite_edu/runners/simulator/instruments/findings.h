// The errors found, one entry per place: how often each happened, and where it happened first.
#pragma once
#include <map>
#include <tuple>

#include "ledger.h"

enum class Fault { OUTSIDE, MISALIGNED, RACE, UNWRITTEN, BARRIERS, LEFT, PENDING, KEPT };
constexpr const char* FAULT_NAMES[] = {"outside",  "misaligned", "race",   "unwritten",
                                       "barriers", "left",       "pending", "kept"};

struct Finding {
  uint64_t count = 0;
  Moment moment;
  int thread = 0, other_thread = -1;
  bool writes = false, other_writes = false;
  int64_t offset = 0;
  unsigned size = 0;
  int64_t more = -1;
};

struct FindingKey {
  Fault fault;
  int object, site, other_site;
  bool operator<(const FindingKey& other) const {
    return std::tie(fault, object, site, other_site) <
           std::tie(other.fault, other.object, other.site, other.other_site);
  }
};

struct Findings {
  std::map<FindingKey, Finding> all;

  void add(const FindingKey& key, Finding found) {
    Finding& known = all[key];
    found.count += known.count;
    const bool is_earlier = found.moment < known.moment;
    if (is_earlier) known = found;
    known.count = found.count;
  }

  void merge(const Findings& other) {
    for (const auto& [key, finding] : other.all) add(key, finding);
  }
};
