// diagnosis: the mask comes before the shift
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word & 0x03030303) >> (2 * i);
}
