// What the instruments of a run report: lines that inspection.py and recorded_steps.py read.
#pragma once
#include <inttypes.h>
#include <sys/resource.h>

#include "watch.h"

inline void write_sample(FILE* out, const Key& key, const char* which, const Sample& s) {
  fprintf(out, "sample %d %d %d %u %s %u %" PRIu64 " %d %u", key.site, key.object, key.writes,
          key.size, which, s.moment.block, s.moment.turn, s.warp, s.cost.units);
  for (int i = 0; i < s.request.lanes; ++i) {
    fprintf(out, " %d:%" PRId64, s.request.lane[i], s.request.offset[i]);
  }
  fprintf(out, "\n");
}

inline void write_finding(FILE* out, const char* word, const FindingKey& key, const Finding& f) {
  fprintf(out, "%s %s %d %d %d %" PRIu64 " %u %" PRIu64 " %d %d %d %d %" PRId64 " %u %" PRId64 "\n",
          word, FAULT_NAMES[static_cast<int>(key.fault)], key.object, key.site, key.other_site, f.count,
          f.moment.block, f.moment.turn, f.thread, f.other_thread, f.writes, f.other_writes,
          f.offset, f.size, f.more);
}

inline void write_recording(FILE* out, const Recording& recording) {
  if (!window.count) return;
  for (const RecordedStep& s : recording.steps) {
    fprintf(out, "step %s %d %d %u %u %d %u %u %u ", s.what, s.site, s.object, s.size, s.cost,
            static_cast<int>(s.number), s.ended, s.waiting, s.phase);
    for (const uintptr_t call : s.calls) fprintf(out, "%" PRIxPTR ",", call);
    fprintf(out, " ");
    for (const auto& [batch, copies] : s.copies) fprintf(out, "%zu:%u,", batch, copies);
    fprintf(out, ";");
    for (int lane = 0; lane < WARP_SIZE; ++lane) {
      if (!(s.lanes >> lane & 1)) continue;
      fprintf(out, " %d:%" PRId64 ":%d:", lane, s.at[lane], s.writer[lane]);
      const unsigned size = s.size ? s.size : 2 * sizeof(uint64_t);  // of a shuffle
      const unsigned bytes = s.known >> lane & 1 ? size : 0;
      for (unsigned i = 0; i < bytes; ++i) fprintf(out, "%02x", s.bytes[lane][i]);
    }
    fprintf(out, "\n");
    for (const StepFault& fault : s.faults) {
      write_finding(out, fault.is_of_other ? "raced" : "fault", fault.key, fault.found);
    }
  }
  fprintf(out, "steps %" PRIu64 " %" PRId64 " %d\n", recording.total, recording.first_fault,
          recording.is_checking);
}

inline void write_report(const Sites& sites, const Ledger& ledger, const Findings& findings,
                         const OwnSites& own, const Recording& recording) {
  rlimit limit;  // the kernel's printing was limited, the report is not
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
  FILE* out = fdopen(dup(report_fd), "w");
  setvbuf(out, nullptr, _IOFBF, size_t(1) << 16);
  const bool is_known = library_here.contains(reinterpret_cast<const void*>(interrupted_at));
  fprintf(out, "at %d %" PRIxPTR "\n", sites.site(fatal_place),
          is_known ? interrupted_at - library_here.begin : 0);
  for (size_t site = 0; site < own.size(); ++site) {
    if (own[site]) fprintf(out, "own %zu\n", site);
  }
  for (const auto& [key, row] : ledger.rows) {
    if (!row.requests) continue;
    fprintf(out, "row %d %d %d %u", key.site, key.object, key.writes, key.size);
    for (uint64_t number : {row.requests, row.lanes, row.asked, row.units, row.least, row.repeated,
                            row.mergeable, row.adjacent, row.leaving}) {
      fprintf(out, " %" PRIu64, number);
    }
    fprintf(out, "\n");
    write_sample(out, key, "first", row.first);
    write_sample(out, key, "costliest", row.costliest);
  }
  for (const auto& [key, f] : findings.all) write_finding(out, "finding", key, f);
  write_recording(out, recording);
  for (const Phase& phase : ledger.phases) {
    fprintf(out, "phase %d", phase.end);
    for (const auto& warp : phase.requests) {
      for (unsigned number : warp) fprintf(out, " %u", number);
    }
    fprintf(out, "\n");
  }
  fclose(out);
}
