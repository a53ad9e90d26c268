// diagnosis: 'codes' is used uninitialized
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes;
  codes |= word >> (2 * i) & 0x03030303;
  return codes;
}
