// diagnosis: the mask is 0x0F0F0F0F, two codes in each byte
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (2 * i)) & 0x0F0F0F0F;
}
