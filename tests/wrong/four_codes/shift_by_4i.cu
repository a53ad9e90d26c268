// diagnosis: the shift is 4 * i; fields are 2 bits wide, so it is 2 * i
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (4 * i)) & 0x03030303;
}
