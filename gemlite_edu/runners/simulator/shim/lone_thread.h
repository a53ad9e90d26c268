// What a thread does by itself besides computing: it tells the time, waits, or gives up.
#pragma once
#include <time.h>

#include "cooperation.h"

inline long long clock64() { return static_cast<long long>(sim_clock()); }
inline void __nanosleep(unsigned) {}
inline void __trap() { sim_trap(); }
inline void __prof_trigger(int) {}
