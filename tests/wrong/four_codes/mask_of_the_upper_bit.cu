// diagnosis: the mask is 0x02020202, the upper bit of each code
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (2 * i)) & 0x02020202;
}
