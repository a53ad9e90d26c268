// diagnosis: 2 is taken from each code, which four_weights and the GEMV do
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int j = 0; j < 4; ++j) {
    const uint32_t weight = (word >> (8 * j + 2 * i) & 3) - 2;
    codes |= (weight & 0xFF) << (8 * j);
  }
  return codes;
}
