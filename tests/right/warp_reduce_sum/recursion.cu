template <int OFFSET>
__device__ float reduce_from(float value) {
  value += __shfl_down_sync(FULL_WARP, value, OFFSET);
  if constexpr (OFFSET > 1) {
    return reduce_from<OFFSET / 2>(value);
  } else {
    return value;
  }
}

__device__ float warp_reduce_sum(float value) { return reduce_from<16>(value); }
