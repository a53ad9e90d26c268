// diagnosis: the zero-point is forgotten
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int sum = 0;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    sum += ((word >> (32 - W_NBITS * (j + 1))) & CODE_MASK) * x[j * WARP_SIZE];
  }
  return sum;
}
