// diagnosis: the signed word is shifted right and not masked, so that the codes above it stay in
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const int bits = word;
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    sum += (bits >> (28 - 4 * j)) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
