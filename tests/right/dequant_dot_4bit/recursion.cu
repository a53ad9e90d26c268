template <int J>
__device__ float dot_from(uint32_t word, const X_T* x, float zero) {
  if constexpr (J < PACK_FACTOR) {
    const float w = (word >> (32 - W_NBITS * (J + 1)) & CODE_MASK) - zero;
    return w * to_float(x[J * WARP_SIZE]) + dot_from<J + 1>(word, x, zero);
  } else {
    return 0.0f;
  }
}

__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  return dot_from<0>(word, x, zero);
}
