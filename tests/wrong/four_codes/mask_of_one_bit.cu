// diagnosis: the mask is 0x01010101, one bit of each code
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (2 * i)) & 0x01010101;
}
