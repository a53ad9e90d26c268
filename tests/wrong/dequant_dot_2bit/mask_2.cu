// diagnosis: the mask is 1 << W_NBITS - 1, the top bit alone, because - comes before <<
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 16; ++j) {
    const uint32_t code = (word >> (30 - 2 * j)) & (1 << 2 - 1);
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
