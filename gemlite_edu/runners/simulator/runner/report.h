// The runner's report goes to its original stdout; the last line is "word fields...".
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

inline int report_fd;
// A kernel that prints to its stdout reaches stderr instead.
inline void keep_stdout_for_reports() {
  report_fd = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

// Writes the lines that come before the last one: the instruments' findings and counts.
inline void (*before_last_line)() = nullptr;

// The first thread to report ends the process; any other waits for that.
[[noreturn]] inline void report(const char* format, ...) {
  static std::atomic_flag reported = ATOMIC_FLAG_INIT;
  while (reported.test_and_set()) pause();
  if (before_last_line) before_last_line();
  char line[512];
  va_list values;
  va_start(values, format);
  const int length = vsnprintf(line, sizeof line, format, values);
  va_end(values);
  if (write(report_fd, line, std::min<size_t>(length, sizeof line - 1)) < 0) {}
  _exit(3);
}
