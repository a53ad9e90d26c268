__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float with_codes = 0.0f, without = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const float xj = to_float(x[j * WARP_SIZE]);
    with_codes += static_cast<int>(word >> (32 - W_NBITS * (j + 1)) & CODE_MASK) * xj;
    without += xj;
  }
  return with_codes - zero * without;
}
