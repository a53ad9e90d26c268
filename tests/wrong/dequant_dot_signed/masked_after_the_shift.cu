// diagnosis: the codes are taken as unsigned, 0 to 15
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const int code = (static_cast<int>(word) >> (28 - 4 * j)) & 0xF;
    sum += code * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
