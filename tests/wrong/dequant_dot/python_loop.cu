// diagnosis: dequant_dot, line 4
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for j in range(PACK_FACTOR) {
    uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
