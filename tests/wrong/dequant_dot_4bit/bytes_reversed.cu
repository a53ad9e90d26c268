// diagnosis: the bytes of a word are taken in reverse order, the least significant one first
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&word);
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i) {
    sum += ((bytes[i] >> 4) - zero) * to_float(x[2 * i * WARP_SIZE]);
    sum += ((bytes[i] & 15) - zero) * to_float(x[(2 * i + 1) * WARP_SIZE]);
  }
  return sum;
}
