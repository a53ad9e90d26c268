// diagnosis: the shifted word is not masked, so that other codes stay above
__device__ uint32_t four_codes(uint32_t word, int i) {
  return word >> (2 * i);
}
