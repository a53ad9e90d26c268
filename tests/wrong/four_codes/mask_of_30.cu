// diagnosis: the mask is 0x30303030, bits 4 and 5 of each byte
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (2 * i)) & 0x30303030;
}
