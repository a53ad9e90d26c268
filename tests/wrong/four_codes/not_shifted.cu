// diagnosis: the word is not shifted: every i gives codes 0 to 3
__device__ uint32_t four_codes(uint32_t word, int i) {
  return word & 0x03030303;
}
