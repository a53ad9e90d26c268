__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int shift = 0; shift < 32; shift += 8) {
    const int top = static_cast<int>(word << shift);
    const X_T* pair = x + shift / 4 * WARP_SIZE;
    sum += ((top >> 24 & 0x7F) - zero) * to_float(*(top < 0 ? pair : pair + WARP_SIZE));
  }
  return sum;
}
