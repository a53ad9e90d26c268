// How a skeleton calls the text in the hole prepare_pairs. That text may take the levels, a tensor
// that the launch brings, or nothing.
#pragma once

template <typename Anything>
__device__ inline void prepare_with(Anything (*text)(const float*), const float* levels) {
  text(levels);
}
template <typename Anything>
__device__ inline void prepare_with(Anything (*text)(), const float*) {
  text();
}
