// diagnosis: code - zero is put in an unsigned byte, which has no negative numbers
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int sum = 0;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const unsigned char weight = code - zero;
    sum += weight * x[j * WARP_SIZE];
  }
  return sum;
}
