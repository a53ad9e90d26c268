// diagnosis: four_codes, line 3: 'code' was not declared
__device__ uint32_t four_codes(uint32_t word, int i) {
  return code(word, i) & 0x03030303;
}
