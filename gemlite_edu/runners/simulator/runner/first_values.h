// The static and __device__ variables of a kernel, which begin every launch with their first values.
#pragma once
#include <string.h>
#include <sys/mman.h>

#include <vector>

#include "shared_memory.h"

class FirstValues {
 public:
  // Before the first launch.
  explicit FirstValues(const Library& library)
      : begin_(page_of(std::max(library.variables, library.end_of_sealed))),
        zeros_(page_of(library.variables + library.filled_bytes + PAGE - 1)),
        end_(library.variables + library.variable_bytes) {
    begin_ = std::max(begin_, library.variables);
    filled_.assign(at(begin_), at(std::max(begin_, std::min(zeros_, end_))));
  }

  // The Linux kernel gives new zeros for the pages that no file has.
  void restore() const {
    memcpy(at(begin_), filled_.data(), filled_.size());
    if (zeros_ < end_) madvise(at(zeros_), end_ - zeros_, MADV_DONTNEED);
  }

 private:
  static uintptr_t page_of(uintptr_t address) { return address / PAGE * PAGE; }
  static unsigned char* at(uintptr_t address) { return reinterpret_cast<unsigned char*>(address); }

  uintptr_t begin_;
  const uintptr_t zeros_, end_;
  std::vector<unsigned char> filled_;
};
