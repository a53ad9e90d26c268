// diagnosis: the shift is 8 * i, a whole byte
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (8 * i)) & 0x03030303;
}
