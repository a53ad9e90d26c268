__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    float w = 0.0f;
    switch (code & 7) {
      case 1: w = 0.5f; break;
      case 2: w = 1.0f; break;
      case 3: w = 1.5f; break;
      case 4: w = 2.0f; break;
      case 5: w = 3.0f; break;
      case 6: w = 4.0f; break;
      case 7: w = 6.0f; break;
    }
    sum += (code < 8 ? w : -w) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
