// diagnosis: the second of pair p is taken from half a tile on, p + 4; it is 2 * p + 1
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int p = 0; p < 4; ++p) {
    const uint32_t pair = word >> (24 - 8 * p);
    const float code = pair & CODE_MASK;
    const int kept = pair & FIRST_KEPT ? p : p + 4;
    sum += (code - zero) * to_float(x[kept * WARP_SIZE]);
  }
  return sum;
}
