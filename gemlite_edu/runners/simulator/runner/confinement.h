// Takes from this process what a kernel does not need. The Linux kernel enforces it where it can.
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "lanes.h"

constexpr rlim_t OWN_MEMORY = rlim_t(2) << 30;     // bytes, beyond the lanes' stacks
constexpr rlim_t PRINTED_LIMIT = rlim_t(1) << 20;  // bytes; a kernel in a loop prints no more
// Landlock: unprivileged access control, in the kernel's documentation. Newer C libraries name them.
constexpr long CREATE_RULESET = 444, RESTRICT_SELF = 446;
constexpr long LANDLOCK_ASK_VERSION = 1;

inline void set_limit(int resource, rlim_t value) {
  const rlimit limit = {value, value};
  setrlimit(static_cast<decltype(RLIMIT_DATA)>(resource), &limit);
}

inline void limit_memory_and_files(int workers) {
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_FSIZE, PRINTED_LIMIT);
  signal(SIGXFSZ, SIG_IGN);
  set_limit(RLIMIT_DATA, OWN_MEMORY + static_cast<rlim_t>(workers) * launch.threads * STACK_AND_LINES);
}

// filter: the instructions of gemlite_edu/runners/forbidden_calls.py in hexadecimal digits.
inline void forbid_calls(const char* filter) {
  std::vector<sock_filter> program(strlen(filter) / (2 * sizeof(sock_filter)));
  if (program.empty()) return;
  auto* bytes = reinterpret_cast<unsigned char*>(program.data());
  for (size_t i = 0; i < program.size() * sizeof(sock_filter); ++i) {
    const char digits[] = {filter[2 * i], filter[2 * i + 1], 0};
    bytes[i] = static_cast<unsigned char>(strtoul(digits, nullptr, 16));
  }
  const sock_fprog described = {static_cast<unsigned short>(program.size()), program.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &described, 0, 0);
}

// From now on no file can be opened, and no other process looked into.
inline void forbid_files() {
  const long version = syscall(CREATE_RULESET, nullptr, 0, LANDLOCK_ASK_VERSION);
  if (version < 1) return;
  const uint64_t accesses = (uint64_t(1) << (version < 2 ? 13 : version < 3 ? 14 : 15)) - 1;
  const long ruleset = syscall(CREATE_RULESET, &accesses, sizeof accesses, 0);
  syscall(RESTRICT_SELF, ruleset, 0);
  close(static_cast<int>(ruleset));
}
