// Which bytes of shared memory an asynchronous copy has been asked for and has not delivered yet.
#pragma once
#include "shadow.h"

class Pending {
 public:
  void begin(size_t at, size_t bytes, size_t shared_bytes, const Access& copy) {
    if (!copy_of_) copy_of_ = zeroed<Access>(shared_bytes);
    std::fill_n(copy_of_ + at, bytes, copy);
  }
  void end(size_t at, size_t bytes) { std::fill_n(copy_of_ + at, bytes, Access{}); }

  // The copy, begun since `first_epoch`, that one of the bytes waits for; null if there is none.
  const Access* find(size_t at, size_t bytes, uint32_t first_epoch) const {
    for (size_t i = at; copy_of_ && i < at + bytes; ++i) {
      if (copy_of_[i].epoch >= first_epoch) return &copy_of_[i];
    }
    return nullptr;
  }
  size_t position(const Access* copy) const { return static_cast<size_t>(copy - copy_of_); }

 private:
  Access* copy_of_ = nullptr;  // of each byte
};
