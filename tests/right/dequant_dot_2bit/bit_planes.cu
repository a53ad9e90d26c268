__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float ones = 0.0f, twos = 0.0f, all = 0.0f;
  for (int j = 0; j < 16; ++j) {
    const float xj = to_float(x[j * WARP_SIZE]);
    if (word & (0x40000000u >> (2 * j))) ones += xj;
    if (word & (0x80000000u >> (2 * j))) twos += xj;
    all += xj;
  }
  return ones + 2.0f * twos - zero * all;
}
