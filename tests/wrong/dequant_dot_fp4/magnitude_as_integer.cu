// diagnosis: the three bits below the sign are taken as an integer
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const int w = code & 8 ? -(code & 7) : code;
    sum += w * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
