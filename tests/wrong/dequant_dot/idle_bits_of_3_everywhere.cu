// diagnosis: dequant_dot is wrong on 7-bit
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  int idle = 32 % W_NBITS ? 2 : 0;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    uint32_t code = (word >> (idle + W_NBITS * (PACK_FACTOR - 1 - j))) & CODE_MASK;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
