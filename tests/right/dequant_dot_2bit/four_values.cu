__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const float values[4] = {-zero, 1.0f - zero, 2.0f - zero, 3.0f - zero};
  float sum = 0.0f;
  for (int j = 15; j >= 0; --j) {
    sum += values[word & 3] * to_float(x[j * WARP_SIZE]);
    word >>= 2;
  }
  return sum;
}
