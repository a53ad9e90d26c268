// Each worker may use so many seconds of processor time in a launch: a busy machine refuses no kernel.
#pragma once
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "report.h"

inline double time_limit;  // seconds, of each worker
// Called when the time is up; the instruments let the lanes run on until they find the loop.
inline void (*when_time_is_up)() = [] { report("endless"); };

inline void catch_end_of_time() {
  struct sigaction action = {};
  action.sa_handler = [](int) { when_time_is_up(); };
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGXCPU, &action, nullptr);
}

// It counts the processor time of the thread that calls this.
inline timer_t new_timer() {
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGXCPU;
  timer_t timer;
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer)) report("timer %s", strerror(errno));
  return timer;
}

// From now on, for the thread that made the timer.
inline void limit_time(timer_t timer) {
  itimerspec limit = {};
  limit.it_value.tv_sec = static_cast<time_t>(time_limit);
  limit.it_value.tv_nsec = static_cast<long>(fmod(time_limit, 1.0) * 1e9);
  timer_settime(timer, 0, &limit, nullptr);
}
