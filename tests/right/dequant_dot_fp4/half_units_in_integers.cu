__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const int doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  float sum = 0.0f;
  for (int j = 7; j >= 0; --j, word /= 16) {
    sum += doubled[word % 16] * to_float(x[j * WARP_SIZE]);
  }
  return sum / 2;
}
