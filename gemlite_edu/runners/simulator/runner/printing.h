// A GPU's printf returns the number of its arguments: CUDA C++ Programming Guide, "Formatted Output".
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// How many arguments the format takes: one for each conversion, and one for each * in it.
inline int arguments_of(const char* format) {
  int count = 0;
  while ((format = strchr(format, '%'))) {
    const char* conversion = ++format + strspn(format, "-+ #0123456789.*hlLjzt");
    for (; format < conversion; ++format) count += *format == '*';
    if (!*format) break;
    count += *format++ != '%';
  }
  return count;
}

extern "C" int __wrap_printf(const char* format, ...) {
  va_list values;
  va_start(values, format);
  vprintf(format, values);
  va_end(values);
  return arguments_of(format);
}
