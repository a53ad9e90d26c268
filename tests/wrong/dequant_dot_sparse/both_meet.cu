// diagnosis: both of a pair get the kept weight
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int p = 0; p < 4; ++p) {
    const uint32_t pair = word >> (24 - 8 * p);
    const float code = pair & CODE_MASK;
    sum += (code - zero) * (to_float(x[2 * p * WARP_SIZE]) + to_float(x[(2 * p + 1) * WARP_SIZE]));
  }
  return sum;
}
