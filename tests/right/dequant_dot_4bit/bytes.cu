__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&word);
  float sum = 0.0f;
  for (int i = 3; i >= 0; --i) {  // little-endian: byte 3 is the most significant one
    sum += ((bytes[i] >> 4) - zero) * to_float(x[0]);
    sum += ((bytes[i] & 15) - zero) * to_float(x[WARP_SIZE]);
    x += 2 * WARP_SIZE;
  }
  return sum;
}
