__device__ float dequant_dot(Word word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < CODES_PER_GROUP; ++j) {
    const uint32_t low = (word.low >> (62 - 2 * j)) & 3;
    const uint32_t high = (word.high >> (31 - j)) & 1;
    sum += (static_cast<float>(4 * high + low) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
