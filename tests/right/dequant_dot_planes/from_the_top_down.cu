__device__ float dequant_dot(Word word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < CODES_PER_GROUP; ++j, x += WARP_SIZE) {
    const int code = static_cast<int>(word.low >> 62) + 4 * static_cast<int>(word.high >> 31);
    sum += (code - zero) * to_float(*x);
    word.low <<= 2;
    word.high <<= 1;
  }
  return sum;
}
