// diagnosis: no return statement
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = word >> (2 * i) & 0x03030303;
}
