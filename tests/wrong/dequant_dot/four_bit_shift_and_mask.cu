// diagnosis: the shift and the mask are those of 4 bits, whatever W_NBITS is
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    uint32_t code = (word >> (28 - 4 * j)) & 0xF;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
