// diagnosis: take four products at a time with __dp4a(four_x, four_codes, sum)
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int sum = 0;  // __dp4a(a, b, sum) later
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zero) * x[j * WARP_SIZE];
  }
  return sum;
}
