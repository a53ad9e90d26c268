// diagnosis: 8 is subtracted from the codes, but two's complement has -8 at code 8
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const int code = (word >> (28 - 4 * j)) & 0xF;
    sum += (code - 8) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
