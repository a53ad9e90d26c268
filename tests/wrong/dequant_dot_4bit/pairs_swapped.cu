// diagnosis: the two codes of each pair of fields are swapped
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i) {
    uint32_t byte = (word >> (24 - 8 * i)) & 0xFF;
    float low = (byte & 0x0F) - zero;
    float high = (byte >> 4) - zero;
    sum += low * to_float(x[2 * i * WARP_SIZE]);
    sum += high * to_float(x[(2 * i + 1) * WARP_SIZE]);
  }
  return sum;
}
