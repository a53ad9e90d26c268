__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int byte = 3; byte >= 0; --byte) {
    for (int shift = 6; shift >= 0; shift -= 2) {
      sum += ((word >> (8 * byte + shift) & 3) - zero) * to_float(*x);
      x += WARP_SIZE;
    }
  }
  return sum;
}
