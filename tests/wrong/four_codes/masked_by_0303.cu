// diagnosis: the mask is 0x0303: the codes of the upper two bytes are lost
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (2 * i)) & 0x0303;
}
