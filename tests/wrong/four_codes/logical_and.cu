// diagnosis: && takes the place of &: it gives 1 or 0
__device__ uint32_t four_codes(uint32_t word, int i) {
  return word >> 2 * i && 0x03030303;
}
