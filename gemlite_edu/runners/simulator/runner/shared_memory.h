// The shared memory of a block: this OS thread's copy of the kernel's thread_local variables.
#pragma once
#include <link.h>
#include <stdint.h>

#include <algorithm>

#include "lanes.h"
#include "tensors.h"

// The loader's facts about the kernel's library. The library's only thread_local variables are the
// shared arrays; `shared` is this OS thread's copy of them.
struct Library {
  uintptr_t begin = 0, end = 0;
  unsigned char* shared = nullptr;
  size_t shared_bytes = 0;

  uintptr_t variables = 0;  // where its writable part begins
  size_t variable_bytes = 0;
  size_t filled_bytes = 0;       // of these: the file has them, the others begin as 0
  uintptr_t end_of_sealed = 0;  // so far the loader has made the writable part read-only

  bool has_variable(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - variables < variable_bytes;
  }
  bool contains(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= begin && at < end;
  }
};

inline int describe_library(dl_phdr_info* info, size_t, void* result) {
  Library found;
  found.begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type == PT_LOAD) {
      if (header.p_flags & PF_W) {
        found.variables = info->dlpi_addr + header.p_vaddr;
        found.variable_bytes = header.p_memsz;
        found.filled_bytes = header.p_filesz;
      }
      found.end = std::max<uintptr_t>(found.end, found.begin + header.p_vaddr + header.p_memsz);
    } else if (header.p_type == PT_GNU_RELRO) {
      found.end_of_sealed = info->dlpi_addr + header.p_vaddr + header.p_memsz;
    } else if (header.p_type == PT_TLS) {
      found.shared = static_cast<unsigned char*>(info->dlpi_tls_data);
      found.shared_bytes = header.p_memsz;
    }
  }
  if (!found.contains(reinterpret_cast<const void*>(launch.run_lane))) return 0;
  *static_cast<Library*>(result) = found;
  return 1;
}

inline Library find_library() {
  Library library;
  dl_iterate_phdr(describe_library, &library);
  return library;
}

// As this OS thread sees it.
inline thread_local Library library_here;

// Finds writes beyond the launch's dynamic shared memory: they have overwritten the poison there.
inline void check_dynamic_shared(const unsigned char* dynamic) {
  if (!dynamic) return;
  const unsigned char* end = dynamic + launch.shared_limit;
  const unsigned char* written = first_not_poison(dynamic + launch.shared_bytes, end);
  if (written == end) return;
  report("shared %td %zu %u %u -1", written - dynamic, launch.shared_bytes, sim_here.block_index.x,
         sim_here.block_index.y);
}
