// diagnosis: the codes of a word are taken from the least significant bits up
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    sum += ((word & CODE_MASK) - zero) * to_float(x[j * WARP_SIZE]);
    word >>= W_NBITS;
  }
  return sum;
}
