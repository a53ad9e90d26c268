// Another order of the lanes than lock step, drawn by lot: what comes of it must be the same.
#pragma once
#include <stdint.h>

#include <atomic>
#include <thread>

inline uint64_t seed_of_order = 0;  // 0: the lanes of a warp stay together
inline std::atomic<int> absent_workers{0};

// So that their first blocks run at the same time.
inline void wait_for_other_workers() {
  for (--absent_workers; absent_workers > 0;) std::this_thread::yield();
}

constexpr unsigned EVENTS_PER_TURN = 64, ATOMICS_PER_TURN = 2;  // of a lane, on average

// Xorshift, George Marsaglia 2003: the same numbers for the same seed and block.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u | 1) {}

  unsigned below(size_t count) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<unsigned>((state_ >> 32) % count);
  }

 private:
  uint64_t state_;
};
