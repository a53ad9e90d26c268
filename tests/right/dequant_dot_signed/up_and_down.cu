__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    sum += (static_cast<int32_t>(word << (4 * j)) >> 28) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
