// diagnosis: the codes are all put in the lowest byte
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int j = 0; j < 4; ++j) {
    codes |= word >> (8 * j + 2 * i) & 3;
  }
  return codes;
}
