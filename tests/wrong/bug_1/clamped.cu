// diagnosis: code - zero is clamped to what a signed byte holds
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int sum = 0;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const signed char weight = min(max(code - zero, -128), 127);
    sum += weight * x[j * WARP_SIZE];
  }
  return sum;
}
