// diagnosis: the shifted word is not masked, so that the codes above it stay in
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    sum += ((word >> (28 - 4 * j)) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
