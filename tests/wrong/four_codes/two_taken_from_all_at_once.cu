// diagnosis: 2 is taken from all codes at once, which borrows from the next byte
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (2 * i) & 0x03030303) - 0x02020202;
}
