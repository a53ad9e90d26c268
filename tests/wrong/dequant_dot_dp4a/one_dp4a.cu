// diagnosis: only the first four codes of each word are used
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  uint32_t codes = 0, four_x = 0;
  for (int j = 0; j < 4; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    codes |= (W_NBITS == 8 ? code ^ 128 : code) << (8 * j);
    four_x |= static_cast<uint32_t>(static_cast<uint8_t>(x[j * WARP_SIZE])) << (8 * j);
  }
  const int sum_x = __dp4a(static_cast<int>(four_x), 0x01010101, 0);
  const int offset = W_NBITS == 8 ? 128 : 0;
  return __dp4a(static_cast<int>(four_x), static_cast<int>(codes), (offset - zero) * sum_x);
}
