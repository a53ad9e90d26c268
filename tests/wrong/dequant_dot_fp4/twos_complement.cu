// diagnosis: the codes are taken as two's complement
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int code = static_cast<int>(word << (4 * j)) >> 28;
    sum += code * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
