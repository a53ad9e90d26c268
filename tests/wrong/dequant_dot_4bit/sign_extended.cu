// diagnosis: the codes are sign-extended; they are unsigned
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const int bits = word;
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int code = (bits << (4 * j)) >> 28;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
