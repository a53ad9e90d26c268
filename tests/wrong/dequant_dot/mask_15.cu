// diagnosis: the mask is 15, whatever W_NBITS is
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    int code = word >> (32 - W_NBITS * (j + 1)) & 0xF;
    sum += (code - zero) * to_float(x[WARP_SIZE * j]);
  }
  return sum;
}
