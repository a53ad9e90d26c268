// diagnosis: the mask is 0x3: only the first of the four codes is left
__device__ uint32_t four_codes(uint32_t word, int i) {
  return (word >> (2 * i)) & 3;
}
