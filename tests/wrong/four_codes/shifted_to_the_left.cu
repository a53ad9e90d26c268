// diagnosis: the word is shifted to the left
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word << (2 * i)) & 0x03030303;
}
