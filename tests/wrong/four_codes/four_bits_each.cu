// diagnosis: the codes are put in 4 bits each; they go into 8
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int j = 0; j < 4; ++j) {
    codes |= (word >> (8 * j + 2 * i) & 3) << (4 * j);
  }
  return codes;
}
