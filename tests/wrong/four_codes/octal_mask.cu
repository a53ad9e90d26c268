// diagnosis: the mask is 03030303 without 0x, an octal number
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (2 * i)) & 03030303;
}
