__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  word >>= 32 % W_NBITS;  // the idle bits
  float total = 0.0f;
  for (int field = PACK_FACTOR - 1; field >= 0; --field, word >>= W_NBITS) {
    total = fmaf((word & CODE_MASK) - zero, to_float(x[field * WARP_SIZE]), total);
  }
  return total;
}
