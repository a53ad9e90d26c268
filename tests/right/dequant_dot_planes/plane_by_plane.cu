__device__ float dequant_dot(Word word, const X_T* x, float zero) {
  float of_low = 0.0f, of_high = 0.0f;
  #pragma unroll
  for (int j = CODES_PER_GROUP - 1; j >= 0; --j) {
    const float met = to_float(x[32 * j]);
    of_low += (float(uint32_t(word.low >> 2 * (31 - j)) & 3u) - zero) * met;
    if (word.high & (0x80000000u >> j)) of_high += 4.0f * met;
  }
  return of_low + of_high;
}
