// Where in the kernel's text something happens. The build lists every call of an instrument with
// its line, in program order, and the shared arrays.
#pragma once
#include <stdint.h>
#include <stdio.h>

#include <vector>

#include "../runner/report.h"

struct SharedArray {
  size_t offset;  // in the block's shared memory
  size_t bytes;
  enum Kind { STATIC, DYNAMIC, NOT_SHARED } kind;
};

// A static or __device__ variable: one for all threads.
struct Variable {
  size_t offset;  // in the library
  size_t bytes;
};

struct Sites {
  uintptr_t library = 0;            // where the kernel's library was loaded
  std::vector<uintptr_t> returns;   // address after each call, rising, relative to the library
  std::vector<int> line;  // of each call: a number for its line; of a barrier, for all calls to it
  std::vector<bool> leads;          // a basic block begins here, with an access
  std::vector<uintptr_t> loop_end;  // as `returns`, behind the innermost loop; 0 if there is none
  std::vector<unsigned> rank;       // in which order the calls are run, see program_order.py
  std::vector<uintptr_t> next;      // of `leads`, where the block behind begins; 0 if unknown
  std::vector<SharedArray> arrays;
  std::vector<Variable> variables;
  Variable constants = {0, 0};  // all __constant__ variables
  std::vector<int> site_at;  // of each address up to the last call: the number of the next call

  // Lines "site RETURN LINE LEADS LOOP_END NEXT RANK" "array OFFSET BYTES KIND" and
  // "variable OFFSET BYTES" and "constant OFFSET BYTES", as instrument.py writes them.
  void read(const char* path) {
    FILE* file = fopen(path, "r");
    if (!file) report("load %s", path);
    unsigned long long at, bytes, end, behind;
    int number, flag;
    unsigned order;
    for (char kind[9]; fscanf(file, "%8s", kind) == 1;) {
      if (kind[0] == 's' && fscanf(file, "%llx %d %d %llx %llx %u", &at, &number, &flag, &end, &behind, &order) == 6) {
        returns.push_back(at);
        line.push_back(number);
        leads.push_back(flag != 0);
        loop_end.push_back(end);
        next.push_back(behind);
        rank.push_back(order);
      } else if (kind[0] == 'a' && fscanf(file, "%llu %llu %d", &at, &bytes, &flag) == 3) {
        arrays.push_back({at, bytes, static_cast<SharedArray::Kind>(flag)});
      } else if (kind[0] == 'c' && fscanf(file, "%llx %llx", &at, &bytes) == 2) {
        constants = {at, bytes};
      } else if (kind[0] == 'v' && fscanf(file, "%llu %llu", &at, &bytes) == 2) {
        variables.push_back({at, bytes});
      }
    }
    fclose(file);
    for (size_t i = 0; i < returns.size(); ++i) site_at.resize(returns[i] + 1, static_cast<int>(i));
  }

  int site(uintptr_t place) const {
    const uintptr_t at = place - library;
    return at < site_at.size() ? site_at[at] : static_cast<int>(returns.size());
  }

  bool leads_to_access(uintptr_t place) const {
    const auto index = static_cast<size_t>(site(place));
    return index < leads.size() && leads[index];
  }

  unsigned rank_of(uintptr_t place) const {
    const auto index = static_cast<size_t>(site(place));
    return index < rank.size() ? rank[index] : 0;
  }

  // True if only the block at `other` can follow the block at `block`, with no branch between.
  bool runs_into(uintptr_t block, uintptr_t other) const {
    const auto index = static_cast<size_t>(site(block));
    return index < next.size() && next[index] == other - library;
  }

  // True if `other` lies behind the innermost loop around `place`.
  bool is_behind_loop(uintptr_t other, uintptr_t place) const {
    const auto index = static_cast<size_t>(site(place));
    return index < loop_end.size() && loop_end[index] && other - library >= loop_end[index];
  }

  int line_of(uintptr_t place) const {
    const auto index = static_cast<size_t>(site(place));
    return index < line.size() ? line[index] : -1;
  }
};
