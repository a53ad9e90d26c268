// How a skeleton calls the text in the hole prepare_pairs. That text may take the levels, a tensor
// that the launch brings, or nothing. It may return the place to which it has levels copied, and have
// a finish_pairs that takes them from there when they have come: so no thread waits for them alone.
#pragma once
#include <type_traits>
#include <utility>

template <typename Place>
__device__ inline Place prepare_with(Place (*text)(const float*), const float* levels) {
  return text(levels);
}
template <typename Place>
__device__ inline Place prepare_with(Place (*text)(), const float*) {
  return text();
}
__device__ inline bool prepare_with(void (*text)(const float*), const float* levels) {
  text(levels);
  return true;
}
__device__ inline bool prepare_with(void (*text)(), const float*) {
  text();
  return true;
}

template <typename Place, typename = void>
struct Finishes : std::false_type {};
template <typename Place>
struct Finishes<Place, decltype(finish_pairs(std::declval<Place>()))> : std::true_type {};

// All threads of a block call it, when all of them have waited for their copies.
template <typename Place>
__device__ inline void finish_with(Place place) {
  if constexpr (Finishes<Place>::value) {
    finish_pairs(place);
    __syncthreads();
  }
}
