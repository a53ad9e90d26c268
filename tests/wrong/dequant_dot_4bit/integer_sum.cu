// diagnosis: the sum is held in an integer, which cuts off the fraction
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  int sum = 0;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
