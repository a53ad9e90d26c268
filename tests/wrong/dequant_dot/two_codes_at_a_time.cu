// diagnosis: outside x_shared, which has
__device__ float weight(uint32_t word, int j, float zero) {
  return static_cast<float>((word >> (32 - W_NBITS * (j + 1))) & CODE_MASK) - zero;
}

__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float even = 0.0f, odd = 0.0f;
  for (int j = 0; j < PACK_FACTOR; j += 2) {
    even += weight(word, j, zero) * to_float(x[j * WARP_SIZE]);
    odd += weight(word, j + 1, zero) * to_float(x[(j + 1) * WARP_SIZE]);
  }
  return even + odd;
}
