// diagnosis: codes are taken byte by byte: those of byte i are i, i + 4, i + 8 and i + 12
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int j = 0; j < 4; ++j) {
    const int e = 4 * i + j;
    codes |= (word >> (2 * e) & 3) << (8 * j);
  }
  return codes;
}
