// diagnosis: the two codes of each pair of fields are swapped
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int nibble = 0; nibble < 8; ++nibble) {
    const uint32_t two = (word >> (28 - 4 * nibble)) & 0xF;
    const X_T* meets = x + 2 * nibble * WARP_SIZE;
    sum += ((two & 3) - zero) * to_float(meets[0]);
    sum += ((two >> 2) - zero) * to_float(meets[WARP_SIZE]);
  }
  return sum;
}
