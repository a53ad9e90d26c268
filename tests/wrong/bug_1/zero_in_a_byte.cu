// diagnosis: the zero-point is put in a signed byte: from 128 on it counts as negative
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int sum = 0;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const int weight = code - static_cast<int8_t>(zero);
    sum += weight * x[j * WARP_SIZE];
  }
  return sum;
}
