// diagnosis: has the right numbers on 4-bit, M = 3, N = 33, K = 1000, but multiplies one by one
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int sum = 0;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zero) * x[j * WARP_SIZE];
  }
  return sum;
}
