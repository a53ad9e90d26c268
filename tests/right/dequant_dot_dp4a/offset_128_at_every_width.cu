__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  // a signed byte is code - 128 once its top bit is flipped, whatever the width
  const int ones = 0x01010101;
  int sum = 0;
  for (int j = 0; j < PACK_FACTOR; j += 4) {
    int a = 0, b = static_cast<int>(0x80808080u);
    for (int i = 0; i < 4; i++) {
      if (j + i >= PACK_FACTOR) break;
      a |= (x[(j + i) * WARP_SIZE] & 0xFF) << 8 * i;
      b ^= ((word >> (32 - W_NBITS * (j + i + 1))) & CODE_MASK) << 8 * i;
    }
    sum = __dp4a(a, b, sum);
    const int xs = __dp4a(a, ones, 0);
    sum += (128 - zero) * xs;
  }
  return sum;
}
