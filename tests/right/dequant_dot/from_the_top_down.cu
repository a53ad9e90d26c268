__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  int left = PACK_FACTOR;
  while (left-- > 0) {
    sum += (float(word >> (32 - W_NBITS)) - zero) * to_float(*x);
    word <<= W_NBITS;
    x += WARP_SIZE;
  }
  return sum;
}
