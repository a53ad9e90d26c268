// diagnosis: the shift is 6 - 2 * i: codes 12 to 15 are in the highest bits of each byte
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (6 - 2 * i)) & 0x03030303;
}
