// Loads and stores with a hint for the caches, fences, and addresses in shared memory. There are no
// caches here, and the lanes of a block see each other's stores at once.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "cooperation.h"

// These reach global memory alone.
#define SIM_LOAD(NAME)                            \
  template <typename T> T NAME(const T* address) { \
    sim_only_global(address);                     \
    return *address;                              \
  }
SIM_LOAD(__ldg)
SIM_LOAD(__ldcs)
SIM_LOAD(__ldcg)
SIM_LOAD(__ldca)
SIM_LOAD(__ldlu)
SIM_LOAD(__ldcv)
#undef SIM_LOAD

template <typename T>
struct SimOwn { using type = T; };  // of a parameter that is no reason for T
#define SIM_STORE(NAME)                                                            \
  template <typename T> void NAME(T* address, typename SimOwn<T>::type value) { \
    sim_only_global(address);                                                      \
    *address = value;                                                              \
  }
SIM_STORE(__stcs)
SIM_STORE(__stcg)
SIM_STORE(__stwb)
SIM_STORE(__stwt)
#undef SIM_STORE

inline void __threadfence() { sim_fence(); }
inline void __threadfence_block() { sim_fence(); }
inline void __threadfence_system() { sim_fence(); }

inline size_t __cvta_generic_to_shared(const void* shared) { return sim_shared_address(shared); }
inline void* __cvta_shared_to_generic(size_t address) {
  return sim_at_shared_address(static_cast<uint32_t>(address));
}
