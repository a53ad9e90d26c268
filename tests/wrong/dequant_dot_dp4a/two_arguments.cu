// diagnosis: dequant_dot, line
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int dot = 0, sum_x = 0;
  for (int first = 0; first < PACK_FACTOR; first += 4) {
    uint32_t codes = 0, four_x = 0;
    for (int i = 0; i < 4 && first + i < PACK_FACTOR; ++i) {
      const int j = first + i;
      const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
      codes |= (W_NBITS == 8 ? code ^ 128 : code) << (8 * i);
      four_x |= static_cast<uint32_t>(static_cast<uint8_t>(x[j * WARP_SIZE])) << (8 * i);
    }
    dot = __dp4a(static_cast<int>(four_x), static_cast<int>(codes)); dot += 0;
    sum_x = __dp4a(static_cast<int>(four_x), 0x01010101, sum_x);
  }
  const int offset = W_NBITS == 8 ? 128 : 0;
  return dot + (offset - zero) * sum_x;
}
