// diagnosis: the idle bits are taken to be at the top of the word
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  // from the last code, which is in the lowest bits, to the first
  for (int j = PACK_FACTOR - 1; j >= 0; --j) {
    sum += ((word & CODE_MASK) - zero) * to_float(x[j * WARP_SIZE]);
    word >>= W_NBITS;
  }
  return sum;
}
