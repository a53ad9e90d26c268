// Loads and stores with a hint for the caches, fences, and addresses in shared memory. There are no
// caches here, and the lanes of a block see each other's stores at once.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "cooperation.h"

template <typename T> T __ldg(const T* address) { return *address; }
template <typename T> T __ldcs(const T* address) { return *address; }
template <typename T> T __ldcg(const T* address) { return *address; }
template <typename T> T __ldca(const T* address) { return *address; }
template <typename T> T __ldlu(const T* address) { return *address; }
template <typename T> T __ldcv(const T* address) { return *address; }

template <typename T>
struct SimOwn { using type = T; };  // of a parameter that is no reason for T
template <typename T> void __stcs(T* address, typename SimOwn<T>::type value) { *address = value; }
template <typename T> void __stcg(T* address, typename SimOwn<T>::type value) { *address = value; }
template <typename T> void __stwb(T* address, typename SimOwn<T>::type value) { *address = value; }
template <typename T> void __stwt(T* address, typename SimOwn<T>::type value) { *address = value; }

inline void __threadfence() { sim_fence(); }
inline void __threadfence_block() { sim_fence(); }
inline void __threadfence_system() { sim_fence(); }

// Addresses in shared memory have 32 bits. Here they count from a variable beside it (bindings.h).
extern __thread unsigned char sim_touched;
inline size_t __cvta_generic_to_shared(const void* shared) {
  return static_cast<uint32_t>(static_cast<const unsigned char*>(shared) - &sim_touched);
}
inline void* __cvta_shared_to_generic(size_t address) {
  return &sim_touched + static_cast<int32_t>(address);
}
